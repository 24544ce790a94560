import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { phaseOf, type Run } from '../../core/run.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { conversationOverview } from '../../service/conversations/conversation-overview.ts'
import { lastActiveConversations, requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { searchMessages } from '../../service/messages/messages.ts'
import { runOverviews } from '../../service/runs/run-overview.ts'
import { countOwnRuns, findRun, listRunPage } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { id, limit } from '../field.ts'
import { requireRun, runPath } from '../letta/path-params.ts'
import { requireRunCursors } from '../letta/run-page.ts'
import { operation } from '../operation.ts'
import {
  conversationOverviewSchema,
  runCountsSchema,
  runOverviewSchema,
  wireConversationOverview,
  wireRunOverview,
} from './wire/overview.ts'

const SEARCH_MS = 10_000

const runQuery = z.object({
  state: z
    .enum(['created', 'running', 'retrying', 'waiting', 'completed', 'failed', 'cancelled'])
    .optional()
    .describe('Runs in this state only. `retrying`: running, after an attempt that failed.'),
  words: z.string().max(1000).optional().describe('Runs with a message that has these words, the best first.'),
  agent_id: id('agent').optional().describe('Runs of this agent only.'),
  conversation_id: id('conv').optional().describe('Runs of this conversation only.'),
  after: z.string().optional().describe('The last run of the page before: older runs follow.'),
  limit: limit(50),
})

/** Lists for people, with what they recognize a row by. The console reads them. */
const listRuns = operation({
  route: 'GET /v1/holdfast/runs',
  scope: 'read',
  summary: 'Lists runs for people, newest first: agent, first words, state and cost',
  query: runQuery,
  answer: z.array(runOverviewSchema),
  async handle({ query }, context) {
    await requireRunCursors({ after: query.after, before: undefined, limit: query.limit, order: undefined }, context)
    const { retrying } = await countOwnRuns(context)
    const retryAt = new Map(retrying.map((one) => [one.id, one.retryAt]))
    const runs = await findRuns(query, [...retryAt.keys()], context)
    return (await runOverviews(runs, context)).map((overview) =>
      wireRunOverview(overview, retryAt.get(overview.run.id)),
    )
  },
})

type RunQuery = z.output<typeof runQuery>

async function findRuns(query: RunQuery, retrying: readonly RunId[], context: ServiceContext): Promise<Run[]> {
  const { state, agent_id: agentId, conversation_id: conversationId, after, limit: most, words } = query
  const isWanted = (run: Run): boolean =>
    (agentId === undefined || run.agentId === agentId) &&
    (conversationId === undefined || run.conversationId === conversationId) &&
    (state === undefined || state === 'retrying' || phaseOf(run) === state)
  if (words !== undefined && words.trim() !== '') {
    if (after !== undefined) return []
    const signal = AbortSignal.timeout(SEARCH_MS)
    const found = await searchMessages(
      { text: words, limit: most, by: 'words', signal, ...defined({ agentId }) },
      context,
    )
    const ids = new Set(found.map(({ message }) => message.runId))
    return (await runsNamed([...ids], context)).filter(isWanted)
  }
  if (state === 'retrying') return (await runsNamed(retrying, context)).filter(isWanted).slice(0, most)
  const filter = defined({
    agentId,
    conversationId,
    statuses: state === undefined || state === 'waiting' ? undefined : [state],
    waiting: state === 'waiting' ? true : state === 'completed' ? false : undefined,
  })
  return listRunPage(filter, { limit: most, order: 'newest-first', ...defined({ before: after }) }, context)
}

async function runsNamed(ids: readonly RunId[], context: ServiceContext): Promise<Run[]> {
  const found = await Promise.all(ids.map((one) => findRun(one, context)))
  return found.filter((run) => run !== undefined)
}

const countRunsOperation = operation({
  route: 'GET /v1/holdfast/run-counts',
  scope: 'read',
  summary: 'Counts the runs that have not ended, by their state',
  answer: runCountsSchema,
  async handle(_, context) {
    const { queued, running, waiting, retrying } = await countOwnRuns(context)
    return { created: queued, running, waiting, retrying: retrying.length }
  },
})

const showRun = operation({
  route: 'GET /v1/holdfast/runs/:run_id',
  scope: 'read',
  summary: 'Shows what a person recognizes a run by',
  params: runPath,
  answer: runOverviewSchema,
  async handle({ params }, context) {
    const run = await requireRun(params.run_id, context)
    const [[overview], { retrying }] = await Promise.all([runOverviews([run], context), countOwnRuns(context)])
    return wireRunOverview(overview!, retrying.find(({ id: runId }) => runId === run.id)?.retryAt)
  },
})

const listConversationsOfAgent = operation({
  route: 'GET /v1/holdfast/conversations',
  scope: 'read',
  summary: 'Lists the conversations of an agent for people, the last active first, the default one included',
  query: z.object({
    agent_id: id('agent').describe('The id of an agent.'),
    after: z.string().optional().describe('The last conversation of the page before: less active ones follow.'),
    limit: limit(50, 200),
  }),
  answer: z.array(conversationOverviewSchema),
  async handle({ query }, context) {
    const agent = await requireAgent(query.agent_id, context)
    const { limit: most, after } = query
    const all = await lastActiveConversations(agent, { limit: most, ...defined({ after }) }, context)
    return Promise.all(
      all.map(async (conversation) =>
        wireConversationOverview({ agent, conversation, overview: await conversationOverview(conversation, context) }),
      ),
    )
  },
})

const showConversation = operation({
  route: 'GET /v1/holdfast/conversations/:conversation_id',
  scope: 'read',
  summary: 'Shows what a person recognizes a conversation by',
  params: { conversation_id: id('conv').describe('The id of a conversation.') },
  answer: conversationOverviewSchema,
  async handle({ params }, context) {
    const { agent, conversation } = await requireConversationAndAgent(params.conversation_id, context)
    return wireConversationOverview({
      agent,
      conversation,
      overview: await conversationOverview(conversation, context),
    })
  },
})

export const overviewOperations = [listRuns, showRun, countRunsOperation, listConversationsOfAgent, showConversation]
