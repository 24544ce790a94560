import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { conversationOverview } from '../../service/conversations/conversation-overview.ts'
import { listConversations, requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { runOverviews } from '../../service/runs/run-overview.ts'
import { listRunPage } from '../../service/runs/runs.ts'
import { id, limit } from '../field.ts'
import { requireRunCursors } from '../letta/run-page.ts'
import { operation } from '../operation.ts'
import {
  conversationOverviewSchema,
  runOverviewSchema,
  wireConversationOverview,
  wireRunOverview,
} from './wire/overview.ts'

const MAX_CONVERSATIONS = 200

/** Lists for people, with what they recognize a row by. The console reads them. */
const listRuns = operation({
  route: 'GET /v1/holdfast/runs',
  scope: 'read',
  summary: 'Lists runs for people, newest first: agent, first words, state and cost',
  query: z.object({
    state: z
      .enum(['created', 'running', 'waiting', 'completed', 'failed', 'cancelled'])
      .optional()
      .describe('Runs in this state only.'),
    agent_id: id('agent').optional().describe('Runs of this agent only.'),
    conversation_id: id('conv').optional().describe('Runs of this conversation only.'),
    after: z.string().optional().describe('The last run of the page before: older runs follow.'),
    limit: limit(50),
  }),
  answer: z.array(runOverviewSchema),
  async handle({ query }, context) {
    const { state, agent_id: agentId, conversation_id: conversationId, after, limit: most } = query
    await requireRunCursors({ after, before: undefined, limit: most } as never, context)
    const filter = defined({
      agentId,
      conversationId,
      statuses: state === undefined || state === 'waiting' ? undefined : [state],
      waiting: state === 'waiting' ? true : state === 'completed' ? false : undefined,
    })
    const page = { limit: most, order: 'newest-first' as const, ...defined({ before: after }) }
    return (await runOverviews(await listRunPage(filter, page, context), context)).map(wireRunOverview)
  },
})

const listConversationsOfAgent = operation({
  route: 'GET /v1/holdfast/conversations',
  scope: 'read',
  summary: 'Lists the conversations of an agent for people, the last active first, the default one included',
  query: z.object({ agent_id: id('agent').describe('The id of an agent.') }),
  answer: z.array(conversationOverviewSchema),
  async handle({ query }, context) {
    const agent = await requireAgent(query.agent_id, context)
    const all = (await listConversations(agent, context))
      .toSorted((a, b) => (b.lastMessageAt ?? b.createdAt) - (a.lastMessageAt ?? a.createdAt))
      .slice(0, MAX_CONVERSATIONS)
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

export const overviewOperations = [listRuns, listConversationsOfAgent, showConversation]
