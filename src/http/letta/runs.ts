import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { AgentId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isSettled, type Run, type RunStatus, STATUS_OF_STOP, type StopReason } from '../../core/run.ts'
import { usageOfRun } from '../../core/usage.ts'
import type { RunFilter } from '../../ports/store.ts'
import { withShownCallback } from '../../service/messages/callbacks.ts'
import { listAttempts } from '../../service/runs/attempts.ts'
import { listRunPage, showRun } from '../../service/runs/runs.ts'
import { listSteps } from '../../service/runs/steps.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { flag, id, listOf } from '../field.ts'
import { operation } from '../operation.ts'
import { assistantToolOf } from './assistant-tool.ts'
import { cancelAndWait } from './cancel.ts'
import { messageQuery, pageOfMessages } from './message-page.ts'
import { requireRun, runPath } from './path-params.ts'
import { resumeBody, resumeOptions } from './resume.ts'
import { inOrder, requireRunCursors, requireStepCursors, stepQuery, toRunPage } from './run-page.ts'
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
  active: flag.optional().describe('Active runs only.'),
  agent_id: agentFilter.optional().describe('Runs of this agent only.'),
  agent_ids: listOf(id('agent')).optional().describe('Runs of any of these agents.'),
  ascending: flag.optional().describe('Older form of `order`: true is `asc`.'),
  background: flag.optional().describe('Background runs (true) or foreground runs (false) only.'),
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
  async handle({ query }, context) {
    await requireRunCursors(query, context)
    return (await listFor(query, context)).map((run) => wireRun(withShownCallback(run, context)))
  },
})

const showRunOperation = operation({
  route: 'GET /v1/runs/:run_id',
  scope: 'read',
  summary: 'Shows a run',
  params: runPath,
  answer: runSchema,
  handle: async ({ params }, context) => wireRun(withShownCallback(await requireRun(params.run_id, context), context)),
})

/** Runs are part of the history and are never deleted: this cancels an active one. */
const cancelRunOperation = operation({
  route: 'DELETE /v1/runs/:run_id',
  scope: 'agent',
  summary: 'Cancels an active run',
  params: runPath,
  answer: runSchema,
  async handle({ params }, context) {
    const { id: runId, ...run } = await requireRun(params.run_id, context)
    if (isSettled(run))
      throw new Problem(
        'conflict',
        `${runId} has already ended (${run.status}). Only an active run can be cancelled, and runs are never deleted.`,
        { runId },
      )
    return wireRun(await cancelAndWait(runId, context))
  },
})

const listRunMessages = operation({
  route: 'GET /v1/runs/:run_id/messages',
  scope: 'read',
  summary: 'Lists the messages of a run',
  params: runPath,
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ params, query }, context) {
    const { run, messages } = await showRun((await requireRun(params.run_id, context)).id, context)
    return wireMessages(pageOfMessages(messages, query), assistantToolOf(query)).filter(
      ofTypes(query.include_return_message_types ?? typesOf(run)),
    )
  },
})

const listRunSteps = operation({
  route: 'GET /v1/runs/:run_id/steps',
  scope: 'read',
  summary: 'Lists the steps of a run',
  params: runPath,
  query: stepQuery,
  answer: z.array(stepSchema),
  async handle({ params, query }, context) {
    const { id: runId } = await requireRun(params.run_id, context)
    await requireStepCursors(query, context)
    return inOrder(await listSteps({ runId }, toRunPage(query), context), query).map(wireStep)
  },
})

const showRunUsage = operation({
  route: 'GET /v1/runs/:run_id/usage',
  scope: 'read',
  summary: 'Shows the tokens a run used',
  params: runPath,
  answer: usageDetailsSchema,
  handle: async ({ params }, context) =>
    usageDetails(usageOfRun((await showRun((await requireRun(params.run_id, context)).id, context)).events)),
})

const listRunAttempts = operation({
  route: 'GET /v1/runs/:run_id/attempts',
  scope: 'read',
  summary: 'Lists the model attempts of a run: failures, remedies, failover, tokens and cost',
  params: runPath,
  answer: z.array(attemptSchema),
  handle: async ({ params }, context) =>
    (await listAttempts((await requireRun(params.run_id, context)).id, context)).map(wireAttempt),
})

const listRunEvents = operation({
  route: 'GET /v1/runs/:run_id/events',
  scope: 'read',
  summary: 'Lists the event log of a run, from which everything else about the run is derived',
  params: runPath,
  answer: z.array(runEventSchema),
  handle: async ({ params }, context) =>
    (await showRun((await requireRun(params.run_id, context)).id, context)).events.map(wireRunEvent),
})

const resumeRun = operation({
  route: 'POST /v1/runs/:run_id/stream',
  scope: 'read',
  summary: 'Resumes the stream of a run',
  params: runPath,
  body: resumeBody,
  example: { starting_after: 0 },
  answer: streamEventSchema,
  streams: 'always',
  async handle({ params, body, reply }, context) {
    const { id: runId } = await requireRun(params.run_id, context)
    await streamRun(reply, { runId, ...resumeOptions(body) }, context)
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

async function listFor(query: RunQuery, context: ServiceContext): Promise<Run[]> {
  const { active, background, conversation_id: conversationId, statuses, stop_reason: stopReason } = query
  const wanted: RunStatus[] | undefined = active ? ['created', 'running'] : statuses
  const filter: RunFilter = defined({
    conversationId: conversationId || undefined,
    statuses: wanted,
    background,
    stopReason,
  })
  const ordered = { ...query, order: query.order ?? (query.ascending ? ('asc' as const) : ('desc' as const)) }
  const page = toRunPage(ordered)
  const agentIds = [...new Set<AgentId>([...(query.agent_id ? [query.agent_id] : []), ...(query.agent_ids ?? [])])]
  const filters = agentIds.length === 0 ? [filter] : agentIds.map((agentId) => ({ ...filter, agentId }))
  const found = (await Promise.all(filters.map((one) => listRunPage(one, page, context)))).flat()
  const sign = page.order === 'oldest-first' ? 1 : -1
  if (filters.length > 1) found.sort((one, other) => sign * (one.createdAt - other.createdAt))
  return inOrder(found.slice(0, page.limit), ordered)
}
