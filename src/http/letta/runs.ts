import { z } from 'zod'
import { parseId, type RunId } from '../../core/id.ts'
import { isSettled, type Run, type RunStatus, STATUS_OF_STOP, type StopReason } from '../../core/run.ts'
import type { RunFilter, RunPage } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { type FailedAttempt, listAttempts, type RunAttempt } from '../../service/runs/attempts.ts'
import { cancelRun, findRun, listRunPage, showRun } from '../../service/runs/runs.ts'
import { findStep, listSteps } from '../../service/runs/steps.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { Routes } from '../routes.ts'
import { HttpFault, NO_RETRY, refuse } from './errors.ts'
import { messageQuery, pageOf } from './message-page.ts'
import { flag, idIn, limit, parsed, texts } from './parse.ts'
import { streamRun } from './stream.ts'
import { ofTypes, wireDate, wireMessages } from './wire/message.ts'
import { typesOf, usageDetails, wireRun, wireStep } from './wire/run.ts'

export function registerRunRoutes(routes: Routes): void {
  routes.get(
    '/v1/runs',
    async ({ query }, desk) => {
      const asked = parsed(runQuery, query, 'query')
      const page = await cursorsOf(asked, desk)
      const runs = await listFor(asked, page, desk)
      return runs.map(wireRun)
    },
    { query: runQuery },
  )

  routes.get('/v1/runs/:run_id', async ({ params }, desk) => wireRun(await requireRun(params, desk)))

  /** A run is part of the history and stays; what can be taken back is what it would still do. */
  routes.delete('/v1/runs/:run_id', async ({ params }, desk) => {
    const run = await requireRun(params, desk)
    if (isSettled(run)) {
      const detail = `CONFLICT: ${run.id} is over (${run.status}) and runs are kept. Only an active run can be cancelled.`
      throw new HttpFault({ status: 409, body: { detail, run_id: run.id }, headers: NO_RETRY })
    }
    const cancelled = await cancelRun(run.id, desk)
    if (isSettled(cancelled)) return wireRun(cancelled)
    return wireRun(await waitForRun(run.id, desk, AbortSignal.timeout(CANCEL_WAIT_MS)))
  })

  routes.get(
    '/v1/runs/:run_id/messages',
    async ({ params, query }, desk) => {
      const asked = parsed(messageQuery, query, 'query')
      const { run, messages } = await showRun((await requireRun(params, desk)).id, desk)
      return wireMessages(pageOf(messages, asked)).filter(ofTypes(asked.include_return_message_types ?? typesOf(run)))
    },
    { query: messageQuery },
  )

  routes.get(
    '/v1/runs/:run_id/steps',
    async ({ params, query }, desk) => {
      const { id: runId } = await requireRun(params, desk)
      const asked = parsed(stepQuery, query, 'query')
      await requireStepCursors(asked, desk)
      const steps = await listSteps({ runId }, chronological(asked), desk)
      return inOrder(steps, asked).map(wireStep)
    },
    { query: stepQuery },
  )

  routes.get('/v1/runs/:run_id/usage', async ({ params }, desk) =>
    usageDetails((await showRun((await requireRun(params, desk)).id, desk)).steps),
  )

  routes.get('/v1/runs/:run_id/attempts', async ({ params }, desk) =>
    (await listAttempts((await requireRun(params, desk)).id, desk)).map(wireAttempt),
  )

  /** The log of a run, word for word: whatever else is told of it follows from this. */
  routes.get('/v1/runs/:run_id/events', async ({ params }, desk) =>
    (await showRun((await requireRun(params, desk)).id, desk)).events.map(({ seq, at, event }) => ({
      ...{ seq, date: wireDate(at), event },
    })),
  )

  routes.post(
    '/v1/runs/:run_id/stream',
    async ({ params, body }, desk, reply) => {
      const { id: runId } = await requireRun(params, desk)
      const asked = parsed(resumeBody, body, 'body')
      await streamRun(reply, { runId, ...resumeWishes(asked) }, desk)
      return reply
    },
    { body: resumeBody },
  )
}

/** Where a reader wants to go on; the same for the stream of a run and of a conversation. */
export const resumeBody = z.object({
  agent_id: z.string().nullish(),
  run_id: z.string().nullish(),
  otid: z.string().nullish(),
  starting_after: z.int().min(0).nullish(),
  include_pings: z.boolean().nullish(),
})

export const resumeWishes = ({ starting_after, include_pings }: z.output<typeof resumeBody>) => ({
  after: starting_after ?? 0,
  pings: include_pings ?? true,
})

export async function requireRun(params: unknown, desk: Desk): Promise<Run> {
  const id = runIdIn(params)
  const run = await findRun(id, desk)
  if (run) return run
  throw refuse(404, `NOT_FOUND: there is no run ${id}`)
}

/** The old server checked this id later than the others, and clients know its 400. */
function runIdIn(params: unknown): RunId {
  const text = (params as { run_id: string }).run_id
  return text.startsWith('run-') ? idIn.run(params) : wrongKind(text)
}

function wrongKind(text: string): never {
  throw refuse(400, `INVALID_ARGUMENT: "${text.slice(0, 80)}" is not the id of a run`)
}

const CANCEL_WAIT_MS = 8_000

const cursors = {
  after: z.string().optional(),
  before: z.string().optional(),
  limit: limit(100),
  order: z.enum(['asc', 'desc']).optional(),
}

export const stepQuery = z.object(cursors)

const runQuery = z.object({
  ...cursors,
  active: flag.optional(),
  agent_id: z.string().optional(),
  agent_ids: texts.optional(),
  ascending: flag.optional(),
  background: flag.optional(),
  conversation_id: z.string().optional(),
  statuses: z
    .union([z.string().transform((text) => [text]), z.array(z.string())])
    .pipe(z.array(z.enum(['created', 'running', 'completed', 'failed', 'cancelled'])))
    .optional(),
  stop_reason: z.enum(Object.keys(STATUS_OF_STOP) as [StopReason, ...StopReason[]]).optional(),
})

type RunQuery = z.output<typeof runQuery>
type Cursors = Pick<RunQuery, 'after' | 'before' | 'limit' | 'order'>

/** A client's cursors follow the order of its list; ours follow time. */
export function chronological({ after, before, limit: most, order }: Cursors): RunPage {
  const isAscending = order === 'asc'
  const [newer, older] = isAscending ? [after, before] : [before, after]
  // The items next to the cursor: for `before` they are read from it, backwards.
  const isFromOldest = before === undefined ? isAscending : !isAscending
  return {
    ...{ limit: most, order: isFromOldest ? 'oldest-first' : 'newest-first' },
    ...(newer === undefined ? {} : { after: newer }),
    ...(older === undefined ? {} : { before: older }),
  }
}

export const inOrder = <T>(items: T[], { before }: Cursors): T[] => (before === undefined ? items : items.toReversed())

export async function requireStepCursors({ after, before }: Cursors, desk: Desk): Promise<void> {
  for (const cursor of [after, before]) {
    if (cursor === undefined) continue
    const id = parseId('step', cursor)
    if (!id || !(await findStep(id, desk))) throw refuse(404, `NOT_FOUND: there is no step ${cursor.slice(0, 80)}`)
  }
}

async function cursorsOf(asked: RunQuery, desk: Desk): Promise<RunQuery> {
  for (const cursor of [asked.after, asked.before]) {
    if (cursor === undefined) continue
    const id = parseId('run', cursor)
    if (!id || !(await findRun(id, desk))) throw refuse(404, `NOT_FOUND: there is no run ${cursor.slice(0, 80)}`)
  }
  return { ...asked, order: asked.order ?? (asked.ascending ? 'asc' : 'desc') }
}

async function listFor(asked: RunQuery, query: RunQuery, desk: Desk): Promise<Run[]> {
  const { active, background, conversation_id, statuses, stop_reason } = asked
  const conversationId = conversation_id === undefined ? undefined : parseId('conv', conversation_id)
  if (conversation_id !== undefined && !conversationId) throw refuse(422, 'query.conversation_id: not a conversation')
  const wanted: RunStatus[] | undefined = active ? ['created', 'running'] : statuses
  const filter: RunFilter = {
    ...(conversationId ? { conversationId } : {}),
    ...(wanted ? { statuses: wanted } : {}),
    ...(background === undefined ? {} : { background }),
    ...(stop_reason === undefined ? {} : { stopReason: stop_reason }),
  }
  const named = new Set([...(asked.agent_id ? [asked.agent_id] : []), ...(asked.agent_ids ?? [])])
  const agentIds = [...named].map((text) => {
    const id = parseId('agent', text)
    if (!id) throw refuse(422, `query.agent_id: "${text.slice(0, 80)}" is not the id of an agent`)
    return id
  })
  const page = chronological(query)
  const lists = agentIds.length === 0 ? [filter] : agentIds.map((agentId) => ({ ...filter, agentId }))
  const found = (await Promise.all(lists.map((one) => listRunPage(one, page, desk)))).flat()
  const sign = page.order === 'oldest-first' ? 1 : -1
  if (lists.length > 1) found.sort((one, other) => sign * (one.createdAt - other.createdAt))
  return inOrder(found.slice(0, page.limit), query)
}

function wireAttempt(attempt: RunAttempt) {
  const { at, target, purpose, outcome, usage, cost, credential } = attempt
  return {
    ...{
      date: wireDate(at),
      target,
      purpose,
      outcome,
      failure: attempt.outcome === 'failed' ? wireFailure(attempt) : null,
    },
    credential: credential ?? null,
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    cached_input_tokens: usage?.cachedTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    cost_usd: cost ?? null,
  }
}

const wireFailure = ({
  kind,
  detail,
  remedy,
  waitMs,
  nextTarget,
  said,
  advice,
  mayHaveCost,
  cooldown,
}: FailedAttempt) => ({
  ...{ kind, detail, remedy, wait_ms: waitMs ?? null, next_target: nextTarget ?? null },
  ...{ http_status: said.status ?? null, code: said.code ?? null, request_id: said.requestId ?? null },
  ...{ advice: advice ?? null, may_have_cost: mayHaveCost },
  cooldown: cooldown ? { of: cooldown.scope, until: wireDate(cooldown.until), reason: cooldown.reason } : null,
})
