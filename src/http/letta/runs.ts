import { z } from 'zod'
import type { AgentId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isSettled, type Run, type RunStatus, STATUS_OF_STOP, type StopReason } from '../../core/run.ts'
import type { RunFilter } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { listAttempts } from '../../service/runs/attempts.ts'
import { listRunPage, showRun } from '../../service/runs/runs.ts'
import { listSteps } from '../../service/runs/steps.ts'
import { flag, id, listOf } from '../field.ts'
import { operation } from '../operation.ts'
import { requireRun, runPath } from './addressed.ts'
import { cancelAndWait } from './cancel.ts'
import { messageQuery, pageOf } from './message-page.ts'
import { resumeBody, resumeOptions } from './resume.ts'
import { chronological, inOrder, requireRunCursors, requireStepCursors, stepQuery } from './run-page.ts'
import { streamRun } from './stream.ts'
import { attemptSchema, wireAttempt } from './wire/attempt.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'
import { runSchema, typesOf, wireRun } from './wire/run.ts'
import { runEventSchema, wireRunEvent } from './wire/run-event.ts'
import { stepSchema, wireStep } from './wire/step.ts'
import { streamEventSchema } from './wire/stream-event.ts'
import { usageDetails, usageDetailsSchema } from './wire/usage.ts'

/** An empty value filters nothing. */
const agentFilter = z.union([id('agent'), z.literal('')])

const runQuery = stepQuery.extend({
  active: flag.optional().describe('Runs that are not over.'),
  agent_id: agentFilter.optional().describe('Runs of this agent only.'),
  agent_ids: listOf(id('agent')).optional().describe('Runs of any of these agents.'),
  ascending: flag.optional().describe('The older spelling of `order`.'),
  background: flag.optional().describe('Runs in the background, or those in the foreground.'),
  conversation_id: id('conv').optional().describe('Runs of this conversation only.'),
  statuses: listOf(z.enum(['created', 'running', 'completed', 'failed', 'cancelled']))
    .optional()
    .describe('Runs with one of these statuses.'),
  stop_reason: z
    .enum(Object.keys(STATUS_OF_STOP) as [StopReason, ...StopReason[]])
    .optional()
    .describe('Runs that ended for this reason.'),
})

type RunQuery = z.output<typeof runQuery>

const listRunsOperation = operation({
  route: 'GET /v1/runs',
  scope: 'read',
  summary: 'Lists runs',
  query: runQuery,
  answer: z.array(runSchema),
  async handle({ query }, desk) {
    await requireRunCursors(query, desk)
    return (await listFor(query, desk)).map(wireRun)
  },
})

const showRunOperation = operation({
  route: 'GET /v1/runs/:run_id',
  scope: 'read',
  summary: 'Shows a run',
  params: runPath,
  answer: runSchema,
  handle: async ({ params }, desk) => wireRun(await requireRun(params.run_id, desk)),
})

/** A run is part of the history and stays; what can be undone is what it would still do. */
const cancelRunOperation = operation({
  route: 'DELETE /v1/runs/:run_id',
  scope: 'agent',
  summary: 'Cancels a run that is not over',
  params: runPath,
  answer: runSchema,
  async handle({ params }, desk) {
    const { id: runId, ...run } = await requireRun(params.run_id, desk)
    if (isSettled(run))
      throw new Problem(
        'conflict',
        `${runId} is over (${run.status}) and runs are kept. Only an active run can be cancelled.`,
        { runId },
      )
    return wireRun(await cancelAndWait(runId, desk))
  },
})

const listRunMessages = operation({
  route: 'GET /v1/runs/:run_id/messages',
  scope: 'read',
  summary: 'Lists the messages of a run',
  params: runPath,
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ params, query }, desk) {
    const { run, messages } = await showRun((await requireRun(params.run_id, desk)).id, desk)
    return wireMessages(pageOf(messages, query)).filter(ofTypes(query.include_return_message_types ?? typesOf(run)))
  },
})

const listRunSteps = operation({
  route: 'GET /v1/runs/:run_id/steps',
  scope: 'read',
  summary: 'Lists the steps of a run',
  params: runPath,
  query: stepQuery,
  answer: z.array(stepSchema),
  async handle({ params, query }, desk) {
    const { id: runId } = await requireRun(params.run_id, desk)
    await requireStepCursors(query, desk)
    return inOrder(await listSteps({ runId }, chronological(query), desk), query).map(wireStep)
  },
})

const showRunUsage = operation({
  route: 'GET /v1/runs/:run_id/usage',
  scope: 'read',
  summary: 'Shows the tokens a run used',
  params: runPath,
  answer: usageDetailsSchema,
  handle: async ({ params }, desk) =>
    usageDetails((await showRun((await requireRun(params.run_id, desk)).id, desk)).steps),
})

const listRunAttempts = operation({
  route: 'GET /v1/runs/:run_id/attempts',
  scope: 'read',
  summary: 'Lists every attempt at a model: failures, remedies, failover, tokens and cost',
  params: runPath,
  answer: z.array(attemptSchema),
  handle: async ({ params }, desk) =>
    (await listAttempts((await requireRun(params.run_id, desk)).id, desk)).map(wireAttempt),
})

const listRunEvents = operation({
  route: 'GET /v1/runs/:run_id/events',
  scope: 'read',
  summary: 'Lists the event log of a run; everything else that is shown of a run follows from it',
  params: runPath,
  answer: z.array(runEventSchema),
  handle: async ({ params }, desk) =>
    (await showRun((await requireRun(params.run_id, desk)).id, desk)).events.map(wireRunEvent),
})

const resumeRun = operation({
  route: 'POST /v1/runs/:run_id/stream',
  scope: 'read',
  summary: 'Streams a run from where the reader is',
  params: runPath,
  body: resumeBody,
  example: { starting_after: 0 },
  answer: streamEventSchema,
  streams: 'always',
  async handle({ params, body, reply }, desk) {
    const { id: runId } = await requireRun(params.run_id, desk)
    await streamRun(reply, { runId, ...resumeOptions(body) }, desk)
    return reply
  },
})

export const runOperations = [
  listRunsOperation,
  showRunOperation,
  cancelRunOperation,
  listRunMessages,
  listRunSteps,
  showRunUsage,
  listRunAttempts,
  listRunEvents,
  resumeRun,
]

async function listFor(query: RunQuery, desk: Desk): Promise<Run[]> {
  const { active, background, conversation_id: conversationId, statuses, stop_reason: stopReason } = query
  const wanted: RunStatus[] | undefined = active ? ['created', 'running'] : statuses
  const filter: RunFilter = {
    ...(conversationId ? { conversationId } : {}),
    ...(wanted ? { statuses: wanted } : {}),
    ...(background === undefined ? {} : { background }),
    ...(stopReason === undefined ? {} : { stopReason }),
  }
  const ordered = { ...query, order: query.order ?? (query.ascending ? ('asc' as const) : ('desc' as const)) }
  const page = chronological(ordered)
  const agentIds = [...new Set<AgentId>([...(query.agent_id ? [query.agent_id] : []), ...(query.agent_ids ?? [])])]
  const filters = agentIds.length === 0 ? [filter] : agentIds.map((agentId) => ({ ...filter, agentId }))
  const found = (await Promise.all(filters.map((one) => listRunPage(one, page, desk)))).flat()
  const sign = page.order === 'oldest-first' ? 1 : -1
  if (filters.length > 1) found.sort((one, other) => sign * (one.createdAt - other.createdAt))
  return inOrder(found.slice(0, page.limit), ordered)
}
