import type { RunStory } from '../../service/runs/runs.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { usageOf } from './wire/run.ts'

/** What a run brought about, as whoever waited for it is told: without what was said to it. */
export function runResponse({ run, messages, steps, events }: RunStory, types: string[] | undefined) {
  const accepted = events.flatMap(({ event }) =>
    'inputs' in event ? event.inputs.map((input) => input.messageId) : [],
  )
  const told = messages.filter(
    ({ id, body: { role } }) => role !== 'user' && role !== 'system' && role !== 'approval' && !accepted.includes(id),
  )
  return {
    messages: wireMessages(told).filter(ofTypes(types)),
    stop_reason: { message_type: 'stop_reason', stop_reason: run.stopReason ?? 'error' },
    usage: usageOf(steps, run.id),
    logprobs: null,
    turns: null,
  }
}
