import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import type { Run } from '../../../core/run.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'
import { always, alwaysNull } from './constant-field.ts'
import { stopReasonSchema } from './stop-reason.ts'
import { storedJson, storedObject } from './stored-json.ts'

const NANOSECONDS_PER_MILLISECOND = 1_000_000

export const runSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      status: z
        .enum(['created', 'running', 'completed', 'failed', 'cancelled'])
        .describe('`created` waits to start. A run that waits for approval is `completed` with `requires_approval`.'),
      created_at: dateSchema,
      completed_at: dateSchema.nullable().describe('When the run ended; null while it is active.'),
      agent_id: z.string(),
      conversation_id: z.string(),
      base_template_id: alwaysNull,
      background: z
        .boolean()
        .describe('Whether the request asked for a background run; every run outlives its connection.'),
      metadata: storedObject.describe(
        '`run_type` names what opened the run; `error` says why a run failed, `silent` that a heartbeat said nothing.',
      ),
      request_config: z.object({
        use_assistant_message: always(true),
        assistant_message_tool_name: always('send_message'),
        assistant_message_tool_kwarg: always('message'),
        include_return_message_types: storedJson.describe('Message types that the request asked for; null for all.'),
      }),
      stop_reason: stopReasonSchema.nullable().describe('Why the run ended; null while it is active.'),
      callback_url: z.string().nullable().describe('Webhook that Holdfast calls when the run has ended.'),
      callback_sent_at: dateSchema.nullable().describe('When the webhook last answered.'),
      callback_status_code: z.int().nullable().describe('HTTP status of the last answer of the webhook.'),
      callback_error: z.string().nullable().describe('Why the last call of the webhook failed.'),
      ttft_ns: alwaysNull,
      total_duration_ns: z.number().nullable().describe('Nanoseconds from the start of the run to its end.'),
    })
    .meta({ id: 'Run', description: 'One accepted request and its execution.' }),
)

/** The answer to a request that does not wait. */
export const sentRunSchema = z.lazy(() =>
  runSchema
    .unwrap()
    .extend({
      queued: z.boolean().describe('Whether the message waits for another run. Only Holdfast has this field.'),
      steered: z
        .boolean()
        .describe('Whether the message joined this run, which ran before. Only Holdfast has this field.'),
    })
    .meta({ id: 'SentRun', description: 'The run that carries the message, and what became of the message.' }),
)

type WireRun = z.output<typeof runSchema>

export function wireRun(run: Run): WireRun {
  const { include_return_message_types, ...metadata } = (run.metadata ?? {}) as Record<string, unknown>
  const took = run.completedAt === undefined ? undefined : run.completedAt - (run.startedAt ?? run.createdAt)
  return {
    id: run.id,
    status: run.status,
    created_at: wireDate(run.createdAt),
    completed_at: run.completedAt === undefined ? null : wireDate(run.completedAt),
    agent_id: run.agentId,
    conversation_id: run.conversationId,
    base_template_id: null,
    background: run.background,
    metadata: Object.assign(
      metadata,
      defined({ silent: run.silent, error: run.error ? wireError(run.id, run.error) : undefined }),
    ),
    request_config: {
      use_assistant_message: true,
      assistant_message_tool_name: 'send_message',
      assistant_message_tool_kwarg: 'message',
      include_return_message_types: include_return_message_types ?? null,
    },
    stop_reason: run.stopReason ?? null,
    callback_url: run.callback?.url ?? null,
    callback_sent_at: run.callback?.sentAt === undefined ? null : wireDate(run.callback.sentAt),
    callback_status_code: run.callback?.statusCode ?? null,
    callback_error: run.callback?.error ?? null,
    ttft_ns: null,
    total_duration_ns: took === undefined ? null : took * NANOSECONDS_PER_MILLISECOND,
  }
}

const wireError = (runId: Run['id'], { errorType, message, detail }: NonNullable<Run['error']>) => ({
  message_type: 'error_message',
  run_id: runId,
  error_type: errorType,
  message,
  detail: detail ?? null,
})

/** The message types that the request of the run asked for; its messages are filtered by them. */
export function typesOf({ metadata }: Run): string[] | undefined {
  const types = (metadata as Record<string, unknown> | null)?.include_return_message_types
  return Array.isArray(types) ? types.map(String) : undefined
}
