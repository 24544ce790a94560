import { z } from 'zod'
import type { MessageId } from '../../../core/id.ts'
import { usageOfRun } from '../../../core/usage.ts'
import type { RunDetails } from '../../../service/runs/runs.ts'
import { alwaysNull } from './constant-field.ts'
import { ofTypes, wireMessages } from './message.ts'
import { messageSchema } from './message-schema.ts'
import { stopReasonSchema } from './stop-reason.ts'
import { usageOf, usageSchema } from './usage.ts'

export const stopSchema = z.lazy(() =>
  z
    .object({ message_type: z.literal('stop_reason'), stop_reason: stopReasonSchema })
    .meta({ id: 'StopReason', description: 'Why a run ended.' }),
)

export const responseSchema = z.lazy(() =>
  z
    .object({
      messages: z.array(messageSchema).describe('Messages of the run, without those that were sent to it.'),
      stop_reason: stopSchema,
      usage: usageSchema,
      logprobs: alwaysNull,
      turns: alwaysNull,
    })
    .meta({ id: 'Response', description: 'The result of a run.' }),
)

type WireResponse = z.output<typeof responseSchema>

/** The response to a client that waited for the run: all messages except those the client sent and `passed` ones. */
export function runResponse(
  { run, messages, steps, events }: RunDetails,
  { types, passed }: { types?: string[]; passed?: ReadonlySet<MessageId> },
): WireResponse {
  const accepted = events.flatMap(({ event }) =>
    'inputs' in event ? event.inputs.map((input) => input.messageId) : [],
  )
  const produced = messages.filter(
    ({ id, body: { role } }) =>
      role !== 'user' && role !== 'system' && role !== 'approval' && !accepted.includes(id) && !passed?.has(id),
  )
  return {
    messages: wireMessages(produced).filter(ofTypes(types)),
    stop_reason: { message_type: 'stop_reason', stop_reason: run.stopReason ?? 'error' },
    usage: usageOf(usageOfRun(events), { runId: run.id, steps: steps.length }),
    logprobs: null,
    turns: null,
  }
}
