import { z } from 'zod'
import type { CompactionSettings } from '../../core/compaction.ts'
import { parseId, type RunId } from '../../core/id.ts'
import { isOver, isSettled } from '../../core/run.ts'
import type { RunFilter } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { cancelRun, listRuns } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { Routes } from '../routes.ts'
import { compactNow, resetNow } from './compact.ts'
import { HttpFault, NO_RETRY, refuse } from './errors.ts'
import { chronological, systemMessage } from './message-history.ts'
import { messageNamed, messageQuery } from './message-page.ts'
import { conversationOf, idIn, parsed, requireAgent } from './parse.ts'
import { type SendMode, sendAndAnswer } from './send.ts'
import { type SendBody, sendBody, withModelOf } from './send-body.ts'
import { ofTypes, wireMessages } from './wire/message.ts'

/** Sending to an agent, and what was said with it. */
export function registerMessageRoutes(routes: Routes): void {
  const send = (path: string, runType: string, modeOf: (body: SendBody) => SendMode) =>
    routes.post(
      path,
      async (request, desk, reply) => {
        const agent = await requireAgent(request.params, desk)
        const body = parsed(sendBody, request.body, 'body')
        const mode = modeOf(body)
        if (mode === 'blocking' && (body.stream_tokens || body.background))
          throw refuse(422, 'body: `stream_tokens` and `background` need `streaming: true`')
        const conversation = await conversationOf(agent, undefined, desk)
        const place = { agent, conversationId: conversation.id, body: withModelOf(conversation, body) }
        const sending = { ...place, mode, policy: 'enqueue', runType } as const
        return sendAndAnswer({ request, reply }, sending, desk)
      },
      { body: sendBody },
    )
  send('/v1/agents/:agent_id/messages', 'send_message', ({ streaming }) => (streaming ? 'stream' : 'blocking'))
  send('/v1/agents/:agent_id/messages/stream', 'send_message_streaming', () => 'stream')
  send('/v1/agents/:agent_id/messages/async', 'send_message_async', () => 'async')

  routes.get(
    '/v1/agents/:agent_id/messages',
    async ({ params, query }, desk) => {
      const agent = await requireAgent(params, desk)
      const asked = parsed(messageQuery, query, 'query')
      const conversation = await conversationOf(agent, asked.conversation_id, desk)
      const messages = await chronological(conversation, asked, desk)
      return messages.filter(ofTypes(asked.include_return_message_types))
    },
    { query: messageQuery },
  )

  routes.post(
    '/v1/agents/:agent_id/messages/cancel',
    async ({ params, body }, desk) => {
      const agent = await requireAgent(params, desk)
      const { run_ids } = parsed(cancelBody, body, 'body')
      const active = run_ids?.length ? run_ids.map(requireRunId) : await activeRuns({ agentId: agent.id }, desk)
      return cancelAll(active, desk)
    },
    { body: cancelBody },
  )

  routes.patch('/v1/agents/:agent_id/reset-messages', async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    await resetNow({ agent, conversationId: (await conversationOf(agent, undefined, desk)).id }, desk)
    return null
  })

  routes.post(
    '/v1/agents/:agent_id/summarize',
    async ({ params, body }, desk) => {
      const agent = await requireAgent(params, desk)
      const { compaction_settings } = parsed(compactBody, body, 'body')
      const { id: conversationId } = await conversationOf(agent, undefined, desk)
      return compactNow({ agent, conversationId, compaction: compactionOf(compaction_settings) }, desk)
    },
    { body: compactBody },
  )

  routes.patch('/v1/agents/:agent_id/messages/:message_id', async () => {
    throw refuse(405, 'Messages are immutable: what was said stays as it was said.')
  })

  routes.get('/v1/messages/:message_id', async ({ params }, desk) => {
    const id = idIn.message(params)
    const message = await messageNamed(id, desk)
    if (message) return wireMessages([message])
    const system = await systemMessage(id, desk)
    if (system) return [system]
    throw refuse(404, `NOT_FOUND: there is no message ${id}`)
  })
}

const cancelBody = z.object({ run_ids: z.array(z.string()).nullish() })

export const compactBody = z.object({
  compaction_settings: z
    .object({
      mode: z.enum(['sliding_window', 'all', 'self_compact_all', 'self_compact_sliding_window']).nullish(),
      model: z.string().nullish(),
      prompt: z.string().nullish(),
      clip_chars: z.int().min(1).nullish(),
      sliding_window_percentage: z.number().gt(0).max(1).nullish(),
    })
    .nullish(),
})

export function compactionOf(
  settings: z.output<typeof compactBody>['compaction_settings'],
): Partial<CompactionSettings> {
  const { mode, model, prompt, clip_chars, sliding_window_percentage } = settings ?? {}
  return {
    ...(mode ? { mode } : {}),
    // The vendor's name for "you choose": the agent's own model.
    ...(model && model !== 'letta/auto' ? { model } : {}),
    ...(prompt ? { prompt } : {}),
    ...(clip_chars ? { clipChars: clip_chars } : {}),
    ...(sliding_window_percentage ? { slidingWindowPercentage: sliding_window_percentage } : {}),
  }
}

function requireRunId(text: string): RunId {
  const id = parseId('run', text)
  if (id) return id
  throw refuse(400, `INVALID_ARGUMENT: "${text.slice(0, 80)}" is not the id of a run`)
}

/** What goes on, is queued or waits for somebody's word. */
export async function activeRuns(where: Pick<RunFilter, 'agentId' | 'conversationId'>, desk: Desk): Promise<RunId[]> {
  const going = await listRuns({ ...where, statuses: ['created', 'running'] }, 100, desk)
  const waiting = await listRuns({ ...where, waiting: true }, 100, desk)
  return [...going, ...waiting].map(({ id }) => id)
}

/** A cancelled run is over within this, unless a tool takes its time to stop. */
export const CANCEL_WAIT_MS = 8_000

/** Cancels these and waits for their ends: what is told is what became of them. */
export async function cancelAll(runIds: readonly RunId[], desk: Desk): Promise<Record<string, string>> {
  if (runIds.length === 0)
    throw new HttpFault({
      status: 409,
      body: { detail: 'CONFLICT: there are no active runs to cancel' },
      headers: NO_RETRY,
    })
  const told = runIds.map(async (id) => {
    const run = await cancelRun(id, desk)
    if (isSettled(run)) return [id, run.status === 'cancelled' ? 'cancelled' : 'failed'] as const
    const ended = await waitForRun(id, desk, AbortSignal.timeout(CANCEL_WAIT_MS))
    return [id, !isOver(ended) || ended.status === 'cancelled' ? 'cancelled' : 'failed'] as const
  })
  return Object.fromEntries(await Promise.all(told))
}
