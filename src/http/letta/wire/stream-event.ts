import { z } from 'zod'
import { dateSchema } from '../../wire-date.ts'
import { alwaysNull } from './constant-field.ts'
import {
  approvalRequestEventSchema,
  assistantMessageSchema,
  reasoningMessageSchema,
  toolCallEventSchema,
  toolReturnMessageSchema,
} from './message-schema.ts'
import { stopSchema } from './run-response.ts'
import { usageSchema } from './usage.ts'

const position = {
  run_id: z.string(),
  seq_id: z.int().describe('Number in the stream of the run, for `starting_after`.'),
}

const errorEventSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('error_message'),
      run_id: z.string(),
      error_type: z.string().describe('Kind of the error, such as llm_timeout.'),
      message: z.string(),
      detail: z.string().nullable().describe('What the provider reported, if anything.'),
      seq_id: position.seq_id,
    })
    .meta({ id: 'ErrorEvent', description: 'Why the run failed. Sent as the named event `error`.' }),
)

const summaryEventSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('summary_message'),
      id: z.string(),
      summary: z.string().describe('Text that replaces the earlier messages from now on.'),
      otid: z.string(),
      ...position,
      compaction_stats: alwaysNull,
    })
    .meta({
      id: 'SummaryEvent',
      description: 'Compaction replaced earlier messages. Unnamed when the request asked for compaction messages.',
    }),
)

/** The end of a run as the response of a request that waited has it, with its position in the stream. */
const stopEventSchema = z.lazy(() =>
  z
    .object({ ...stopSchema.unwrap().shape, ...position })
    .meta({ id: 'StopReasonEvent', description: 'Why the run ended.' }),
)

const usageEventSchema = z.lazy(() =>
  z
    .object({ ...usageSchema.unwrap().shape, ...position })
    .meta({ id: 'UsageEvent', description: 'Tokens of the run, summed over its steps.' }),
)

const pingSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      date: dateSchema,
      name: alwaysNull,
      message_type: z.literal('ping'),
      otid: alwaysNull,
      sender_id: alwaysNull,
      step_id: alwaysNull,
      is_err: alwaysNull,
      seq_id: z.int().describe('Number of the last chunk before the ping.'),
      run_id: z.string(),
    })
    .meta({ id: 'Ping', description: 'Keep-alive: the connection is open and the run continues.' }),
)

const messageResetSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('message_reset'),
      id: z
        .string()
        .nullable()
        .describe('Message whose streamed text is void; null when any earlier chunk may be lost.'),
      reason: z.string(),
      ...position,
    })
    .meta({ id: 'MessageResetEvent', description: 'Streamed text is void: the model answers again. A named event.' }),
)

const attemptFailedSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('attempt_failed'),
      target: z.string().describe('Model of the attempt, as provider/model.'),
      kind: z.string().describe('Kind of the failure, such as rate-limited.'),
      detail: z.string(),
      remedy: z.string().describe('What Holdfast does about it, such as wait or next-target.'),
      next_target: z.string().optional().describe('Model of the next attempt, where it changes.'),
      wait_ms: z.int().optional().describe('Pause before the next attempt, in milliseconds.'),
      ...position,
    })
    .meta({ id: 'AttemptFailedEvent', description: 'A model attempt failed and the run continues. A named event.' }),
)

const toolProgressSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('tool_progress'),
      tool_call_id: z.string(),
      text: z.string(),
      ...position,
    })
    .meta({ id: 'ToolProgressEvent', description: 'A tool that runs reports its progress. A named event.' }),
)

const workerLostSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('worker_lost'),
      deaths: z.int().describe('Workers that died at this step.'),
      ...position,
    })
    .meta({
      id: 'WorkerLostEvent',
      description: 'The worker of the run died and another worker continues. A named event.',
    }),
)

export const streamEventSchema = z.lazy(() =>
  z
    .discriminatedUnion('message_type', [
      assistantMessageSchema,
      reasoningMessageSchema,
      toolCallEventSchema,
      approvalRequestEventSchema,
      toolReturnMessageSchema,
      summaryEventSchema,
      stopEventSchema,
      errorEventSchema,
      usageEventSchema,
      pingSchema,
      messageResetSchema,
      attemptFailedSchema,
      toolProgressSchema,
      workerLostSchema,
    ])
    .meta({
      id: 'StreamEvent',
      description:
        'The data of one server-sent event. Named events are skipped by the official client, except `error`.',
    }),
)

export type WireStreamEvent = z.output<typeof streamEventSchema>
