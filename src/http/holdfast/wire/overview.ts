import { z } from 'zod'
import type { Agent, Conversation } from '../../../core/agent.ts'
import { phaseOf } from '../../../core/run.ts'
import type { ConversationOverview } from '../../../service/conversations/conversation-overview.ts'
import type { RunOverview } from '../../../service/runs/run-overview.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

/** A list shows one line of it. */
const MAX_WORDS = 200

export const runOverviewSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      state: z
        .enum(['created', 'running', 'waiting', 'completed', 'failed', 'cancelled'])
        .describe('The status, but `waiting` for a run that waits for an approval.'),
      stop_reason: z.string().nullable(),
      silent: z.boolean().describe('Of a heartbeat: whether its agent said nothing.'),
      error: z.string().nullable().describe('Why it failed.'),
      agent_id: z.string(),
      agent_name: z.string(),
      conversation_id: z.string(),
      first_words: z.string().describe('The beginning of what it was asked.'),
      cost_usd: z.number().nullable().describe('What its requests cost; null if the price of a model is unknown.'),
      deaths: z.number().describe('How often a process died while it ran.'),
      retry_at: dateSchema.nullable().describe('When a model is asked again; null if the last attempt did not fail.'),
      created_at: dateSchema,
      completed_at: dateSchema.nullable(),
    })
    .meta({ id: 'RunOverview', description: 'What a person recognizes a run by.' }),
)

export const wireRunOverview = (
  { run, agentName, firstWords, cost }: RunOverview,
  retryAt?: number,
): z.output<typeof runOverviewSchema> => ({
  id: run.id,
  state: phaseOf(run),
  stop_reason: run.stopReason ?? null,
  silent: run.silent ?? false,
  error: run.error?.message ?? null,
  agent_id: run.agentId,
  agent_name: agentName,
  conversation_id: run.conversationId,
  first_words: firstWords.slice(0, MAX_WORDS),
  cost_usd: cost ?? null,
  deaths: run.deaths,
  retry_at: retryAt === undefined ? null : wireDate(retryAt),
  created_at: wireDate(run.createdAt),
  completed_at: run.completedAt === undefined ? null : wireDate(run.completedAt),
})

export const runCountsSchema = z.lazy(() =>
  z
    .object({
      created: z.number().describe('Queued runs.'),
      running: z.number(),
      retrying: z.number().describe('Running ones whose last attempt failed.'),
      waiting: z.number().describe('Runs that wait for an approval.'),
    })
    .meta({ id: 'RunCounts' }),
)

export const conversationOverviewSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      is_default: z.boolean().describe('Whether it is the default conversation of its agent.'),
      agent_id: z.string(),
      agent_name: z.string(),
      title: z.string().nullable().describe('Title of the conversation, as an application set it.'),
      first_words: z.string().describe('The beginning of its first message.'),
      messages: z.number().describe('How many messages it has.'),
      cost_usd: z.number().nullable().describe('What its answers cost; null if the price of a model is unknown.'),
      archived: z.boolean(),
      active_at: dateSchema.describe('When its last message was stored.'),
    })
    .meta({ id: 'ConversationOverview', description: 'What a person recognizes a conversation by.' }),
)

type ListedConversation = { agent: Agent; conversation: Conversation; overview: ConversationOverview }

export const wireConversationOverview = ({
  agent,
  conversation,
  overview: { firstWords, messages, cost },
}: ListedConversation): z.output<typeof conversationOverviewSchema> => ({
  id: conversation.id,
  is_default: conversation.isDefault,
  agent_id: agent.id,
  agent_name: agent.name,
  title: conversation.details?.summary ?? null,
  first_words: firstWords.slice(0, MAX_WORDS),
  messages,
  cost_usd: cost ?? null,
  archived: conversation.archivedAt !== undefined,
  active_at: wireDate(conversation.lastMessageAt ?? conversation.createdAt),
})
