import { z } from 'zod'
import type { ConversationDetails } from '../../core/agent.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { TargetHandle } from '../../core/target.ts'
import type { ConversationFilter } from '../../ports/store.ts'
import {
  createConversation,
  deleteConversation,
  forkConversation,
  searchConversations,
  standingOf,
  updateConversation,
} from '../../service/conversations/conversations.ts'
import { recompilePrompt } from '../../service/conversations/prompt.ts'
import type { Desk } from '../../service/desk.ts'
import type { Routes } from '../routes.ts'
import { requireConversation } from './conversation-address.ts'
import { registerConversationMessageRoutes } from './conversation-messages.ts'
import { refuse } from './errors.ts'
import { listQuery, pageOf } from './list-query.ts'
import { positionOf } from './message-page.ts'
import { activeRuns, CANCEL_WAIT_MS, cancelAll } from './messages.ts'
import { requireModel } from './model-handle.ts'
import { flag, parsed, requireAgent } from './parse.ts'
import { record } from './wire/block.ts'
import { wireConversation } from './wire/conversation.ts'

const CONVERSATIONS = '/v1/conversations'
const CONVERSATION = `${CONVERSATIONS}/:conversation_id`

export function registerConversationRoutes(routes: Routes): void {
  routes.post(
    CONVERSATIONS,
    async ({ query, body }, desk) => {
      const { agent_id } = parsed(agentQuery, query, 'query')
      if (!agent_id) throw refuse(422, 'query.agent_id: a conversation needs the agent it is with')
      const agent = await requireAgent({ agent_id }, desk)
      const asked = parsed(newBody, body, 'body')
      const details = { ...detailsFrom(asked, {}, desk), ...(asked.hidden ? { hidden: true } : {}) }
      const ownLabels = asked.isolated_block_labels ?? []
      return told(await createConversation(agent, desk, { ...details, ownLabels }), desk)
    },
    { body: newBody, query: agentQuery },
  )

  routes.get(
    CONVERSATIONS,
    async ({ query }, desk) => {
      const asked = parsed(conversationListQuery, query, 'query')
      const agent = asked.agent_id ? await requireAgent({ agent_id: asked.agent_id }, desk) : undefined
      const filter: ConversationFilter = {
        ...(agent ? { agentId: agent.id } : {}),
        ...(asked.summary_search ? { text: asked.summary_search } : {}),
        ...(asked.order_by ? { sortBy: asked.order_by } : {}),
        archived: ARCHIVED[asked.archive_status ?? 'unarchived'],
      }
      const found = await searchConversations(filter, pageOf(asked), desk)
      return Promise.all(found.map((conversation) => told(conversation, desk)))
    },
    { query: conversationListQuery },
  )

  routes.get(
    CONVERSATION,
    async ({ params, query }, desk) => {
      const { agent_id } = parsed(agentQuery, query, 'query')
      return told((await requireConversation(params, agent_id, desk)).conversation, desk)
    },
    { query: agentQuery },
  )

  routes.patch(
    CONVERSATION,
    async ({ params, query, body }, desk) => {
      const asked = parsed(changeBody, body, 'body')
      const { conversation } = await requireConversation(params, agentIn(query, body), desk)
      const { archived, last_message_at } = asked
      const updated = await updateConversation(
        conversation.id,
        {
          details: (before) => detailsFrom(asked, before, desk),
          ...(typeof archived === 'boolean' ? { isArchived: archived } : {}),
          ...(last_message_at ? { lastMessageAt: Date.parse(last_message_at) } : {}),
        },
        desk,
      )
      return told(updated, desk)
    },
    { body: changeBody },
  )

  routes.delete(CONVERSATION, async ({ params, query }, desk) => {
    const { conversation } = await requireConversation(params, agentIn(query, undefined), desk)
    await deleteConversation(conversation, desk, AbortSignal.timeout(CANCEL_WAIT_MS))
    return null
  })

  routes.post(`${CONVERSATION}/cancel`, async ({ params, query, body }, desk) => {
    const { conversation } = await requireConversation(params, agentIn(query, body), desk)
    return cancelAll(await activeRuns({ conversationId: conversation.id }, desk), desk)
  })

  routes.post(`${CONVERSATION}/fork`, async ({ params, query, body }, desk) => {
    const asked = parsed(forkQuery, { ...(body as object), ...(query as object) }, 'query')
    const { conversation } = await requireConversation(params, asked.agent_id, desk)
    const upTo = asked.message_id ? await positionOf(asked.message_id, conversation.id, desk) : undefined
    const fork = await forkConversation(
      {
        source: conversation,
        ...(upTo === undefined ? {} : { upTo }),
        ...(asked.hidden === undefined ? {} : { isHidden: asked.hidden }),
      },
      desk,
    )
    return told(fork, desk)
  })

  routes.post(
    `${CONVERSATION}/recompile`,
    async ({ params, query, body }, desk, reply) => {
      const { dry_run: dryRun } = parsed(recompileQuery, query, 'query')
      const { conversation } = await requireConversation(params, agentIn(query, body), desk)
      const text = await recompilePrompt({ conversationId: conversation.id, dryRun }, desk)
      return reply.type('application/json').send(JSON.stringify(text))
    },
    { query: recompileQuery },
  )

  registerConversationMessageRoutes(routes)
}

const told = async (conversation: Parameters<typeof wireConversation>[0], desk: Desk) =>
  wireConversation(conversation, await standingOf(conversation.id, desk))

const agentQuery = z.object({ agent_id: z.string().nullish() })
const forkQuery = agentQuery.extend({
  message_id: z.string().nullish(),
  hidden: z.union([flag, z.boolean()]).optional(),
})
const recompileQuery = z.object({ dry_run: flag.default(false) })

/** The client names the agent of a default conversation in either. */
export function agentIn(query: unknown, body: unknown): string | undefined {
  return (
    parsed(agentQuery, query, 'query').agent_id ??
    (body ? parsed(agentQuery, body, 'body').agent_id : null) ??
    undefined
  )
}

const ARCHIVED = { unarchived: 'never', archived: 'only', all: 'too' } as const

const conversationListQuery = listQuery().extend({
  agent_id: z.string().optional(),
  summary_search: z.string().optional(),
  order_by: z.enum(['created_at', 'last_run_completion', 'last_message_at']).optional(),
  archive_status: z.enum(['unarchived', 'archived', 'all']).optional(),
})

const SUMMARY_LIMIT = 100_000

const COMMON = {
  summary: z.string().max(SUMMARY_LIMIT).nullish(),
  description: z.string().max(SUMMARY_LIMIT).nullish(),
  model: z.string().nullish(),
  model_settings: record.nullish(),
  context_window_limit: z.int().min(1).nullish(),
}

const newBody = z.object({
  ...COMMON,
  hidden: z.boolean().nullish(),
  isolated_block_labels: z.array(z.string()).max(1000).nullish(),
})

const changeBody = z.object({
  ...COMMON,
  archived: z.boolean().nullish(),
  last_message_at: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date in ISO 8601')
    .nullish(),
})

type Common = z.output<z.ZodObject<typeof COMMON>>

/** What is left out stays; null takes it away. */
function detailsFrom(asked: Common, before: ConversationDetails, desk: Desk): ConversationDetails {
  const wire: JsonObject = { ...before.wire }
  for (const key of ['model_settings', 'context_window_limit'] as const) {
    const value = asked[key]
    if (value === null) delete wire[key]
    else if (value !== undefined) wire[key] = value as Json
  }
  const { ownBlocks } = before
  const { summary, description, model, hidden } = {
    summary: changed(asked.summary, before.summary),
    description: changed(asked.description, before.description),
    model: changed(asked.model === undefined ? undefined : modelOf(asked.model, desk), before.model),
    hidden: before.hidden,
  }
  return {
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(ownBlocks ? { ownBlocks } : {}),
    ...(model === undefined ? {} : { model }),
    ...(Object.keys(wire).length > 0 ? { wire } : {}),
  }
}

const changed = <T>(said: T | null | undefined, before: T | undefined): T | undefined =>
  said === undefined ? before : (said ?? undefined)

const modelOf = (handle: string | null, desk: Desk): TargetHandle | null =>
  handle === null ? null : (requireModel(handle, desk) as TargetHandle)
