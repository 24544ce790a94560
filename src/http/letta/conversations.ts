import { z } from 'zod'
import type { Conversation, ConversationDetails } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { TargetHandle } from '../../core/target.ts'
import type { ConversationFilter } from '../../ports/store.ts'
import {
  createConversation,
  deleteConversation,
  forkConversation,
  readConversationState,
  requireConversation as requireDefault,
  searchConversations,
  updateConversation,
} from '../../service/conversations/conversations.ts'
import { promptOf, recompilePrompt } from '../../service/conversations/prompt.ts'
import { leaveConversation } from '../../service/conversations/sessions.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { date, flag } from '../field.ts'
import { operation } from '../operation.ts'
import { listQuery, pageOf } from '../paging.ts'
import { addWarnings } from '../warnings.ts'
import { activeRuns, CANCEL_WAIT_MS, cancelAll } from './cancel.ts'
import { requirePosition } from './message-page.ts'
import { renamedHandle, requireModel } from './model-handle.ts'
import { CONVERSATION_SETTINGS, modelSettingsBody, requireOwnVendor } from './model-settings-body.ts'
import {
  agentQuery,
  conversationPath,
  requireAgentConversation,
  requireAgentNamed,
  requireConversation,
} from './path-params.ts'
import { requireRoomForPrompt, windowLimitBody } from './window-limit.ts'
import { cancelledSchema } from './wire/cancelled.ts'
import { conversationSchema, wireConversation } from './wire/conversation.ts'

const ARCHIVED = { unarchived: 'never', archived: 'only', all: 'too' } as const

const conversationListQuery = listQuery().extend({
  agent_id: z.string().optional().describe('Conversations of this agent only.'),
  summary_search: z.string().optional().describe('Conversations whose summary contains this text.'),
  order_by: z
    .enum(['created_at', 'last_run_completion', 'last_message_at'])
    .optional()
    .describe('Sort key of the list.'),
  archive_status: z
    .enum(['unarchived', 'archived', 'all'])
    .optional()
    .describe('Which conversations to list. Default: `unarchived`.'),
})

const SUMMARY_LIMIT = 100_000

const COMMON = {
  summary: z.string().max(SUMMARY_LIMIT).nullish().describe('Title of the conversation.'),
  description: z.string().max(SUMMARY_LIMIT).nullish().describe('What the conversation is about.'),
  model: z.string().nullish().describe('Model for this conversation only, as provider/model.'),
  model_settings: modelSettingsBody.describe(CONVERSATION_SETTINGS),
  context_window_limit: windowLimitBody,
}

const newBody = z.object({
  ...COMMON,
  hidden: z.boolean().nullish().describe('Whether lists leave out the conversation.'),
  isolated_block_labels: z
    .array(z.string())
    .max(1000)
    .nullish()
    .describe('Labels of blocks of the agent; this conversation gets its own copies of them.'),
  leaves: z
    .string()
    .nullish()
    .describe(
      'Conversation of the same agent that its user leaves for this one, or `default`: its processes end once its turns are over, and its messages stay. Only Holdfast has this field.',
    ),
})

const changeBody = z.object({
  ...COMMON,
  archived: z.boolean().nullish().describe('Whether the conversation is archived.'),
  last_message_at: date.nullish().describe('Time of the last message, for lists that are sorted by it.'),
})

const FORK = {
  message_id: z.string().nullish().describe('Id of the last message to copy. Default: all messages are copied.'),
}
const FORK_HIDDEN = 'Whether lists leave out the new conversation.'

const createConversationOperation = operation({
  route: 'POST /v1/conversations',
  scope: 'agent',
  summary: 'Creates a conversation with an agent',
  audit: 'none',
  query: agentQuery,
  body: newBody,
  example: { summary: 'About tea' },
  answer: conversationSchema,
  async handle({ query, body, reply }, context) {
    if (!query.agent_id) throw new Problem('invalid', 'query.agent_id: is required')
    const agent = await requireAgentNamed(query.agent_id, context)
    requireOwnVendor(body, body.model ?? agent.model)
    const limit = body.context_window_limit
    if (limit) await requireRoom(limit, await requireDefault(agent, undefined, context), context)
    const details = { ...detailsFrom(body, {}, context), ...defined({ hidden: body.hidden ? true : undefined }) }
    const ownLabels = body.isolated_block_labels ?? []
    const left = body.leaves ? await requireAgentConversation(agent, body.leaves, context) : undefined
    const created = await createConversation(agent, context, { ...details, ownLabels })
    addWarnings(reply, renamedHandle('model', body.model, details.model))
    if (left && (await leaveConversation({ agent, conversationId: left.id }, context)) === 'kept')
      addWarnings(reply, [`leaves: ${left.id} waits for approval, so its processes go on.`])
    return showWithState(created, context)
  },
})

const listConversationsOperation = operation({
  route: 'GET /v1/conversations',
  scope: 'read',
  summary: 'Lists conversations',
  query: conversationListQuery,
  answer: z.array(conversationSchema),
  async handle({ query }, context) {
    const agent = query.agent_id ? await requireAgentNamed(query.agent_id, context) : undefined
    const filter: ConversationFilter = {
      ...defined({
        agentId: agent ? agent.id : undefined,
        text: query.summary_search || undefined,
        sortBy: query.order_by,
      }),
      archived: ARCHIVED[query.archive_status ?? 'unarchived'],
    }
    const found = await searchConversations(filter, pageOf(query), context)
    return Promise.all(found.map((conversation) => showWithState(conversation, context)))
  },
})

const showConversation = operation({
  route: 'GET /v1/conversations/:conversation_id',
  scope: 'read',
  summary: 'Shows a conversation',
  params: conversationPath,
  query: agentQuery,
  answer: conversationSchema,
  async handle({ params, query }, context) {
    const { conversation } = await requireConversation(params.conversation_id, query.agent_id, context)
    return showWithState(conversation, context)
  },
})

const changeConversation = operation({
  route: 'PATCH /v1/conversations/:conversation_id',
  scope: 'agent',
  summary: 'Updates a conversation; omitted fields stay unchanged, null removes a value',
  params: conversationPath,
  query: agentQuery,
  body: changeBody.extend(agentQuery.shape),
  example: { summary: 'About tea' },
  answer: conversationSchema,
  async handle({ params, query, body, reply }, context) {
    const agentId = query.agent_id ?? body.agent_id
    const { agent, conversation } = await requireConversation(params.conversation_id, agentId, context)
    const { model, wire } = conversation.details ?? {}
    requireOwnVendor(body, body.model ?? model ?? agent.model, wire?.model_settings)
    if (body.context_window_limit) await requireRoom(body.context_window_limit, conversation, context)
    const { archived, last_message_at } = body
    const updated = await updateConversation(
      conversation.id,
      {
        details: (before) => detailsFrom(body, before, context),
        ...defined({
          isArchived: typeof archived === 'boolean' ? archived : undefined,
          lastMessageAt: last_message_at ? Date.parse(last_message_at) : undefined,
        }),
      },
      context,
    )
    addWarnings(reply, renamedHandle('model', body.model, updated.details?.model))
    return showWithState(updated, context)
  },
})

const removeConversation = operation({
  route: 'DELETE /v1/conversations/:conversation_id',
  scope: 'agent',
  summary: 'Cancels the runs of a conversation and deletes it',
  params: conversationPath,
  query: agentQuery,
  answer: z.null(),
  async handle({ params, query }, context) {
    const { conversation } = await requireConversation(params.conversation_id, query.agent_id, context)
    await deleteConversation(conversation, context, AbortSignal.timeout(CANCEL_WAIT_MS))
    return null
  },
})

const cancelConversation = operation({
  route: 'POST /v1/conversations/:conversation_id/cancel',
  scope: 'agent',
  summary: 'Cancels the active runs of a conversation',
  params: conversationPath,
  query: agentQuery,
  body: agentQuery,
  answer: cancelledSchema,
  async handle({ params, query, body }, context) {
    const agentId = query.agent_id ?? body.agent_id
    const { conversation } = await requireConversation(params.conversation_id, agentId, context)
    return cancelAll(await activeRuns({ conversationId: conversation.id }, context), context)
  },
})

const forkConversationOperation = operation({
  route: 'POST /v1/conversations/:conversation_id/fork',
  scope: 'agent',
  summary: 'Forks a conversation: creates another one with the same messages',
  audit: 'none',
  params: conversationPath,
  query: agentQuery.extend({ ...FORK, hidden: flag.optional().describe(FORK_HIDDEN) }),
  body: agentQuery.extend({ ...FORK, hidden: z.union([flag, z.boolean()]).optional().describe(FORK_HIDDEN) }),
  answer: conversationSchema,
  async handle({ params, query, body }, context) {
    const options = { ...body, ...query }
    const { conversation } = await requireConversation(params.conversation_id, options.agent_id, context)
    const upTo = options.message_id ? await requirePosition(options.message_id, conversation.id, context) : undefined
    const fork = await forkConversation(
      {
        source: conversation,
        ...defined({ upTo, isHidden: options.hidden }),
      },
      context,
    )
    return showWithState(fork, context)
  },
})

const recompileConversation = operation({
  route: 'POST /v1/conversations/:conversation_id/recompile',
  scope: 'agent',
  summary: 'Recompiles the system prompt of a conversation from the current memory',
  params: conversationPath,
  query: agentQuery.extend({
    dry_run: flag.default(false).describe('Returns the new prompt without storing it.'),
  }),
  body: agentQuery,
  answer: z.string().describe('The system prompt.'),
  async handle({ params, query, body }, context) {
    const agentId = query.agent_id ?? body.agent_id
    const { conversation } = await requireConversation(params.conversation_id, agentId, context)
    return recompilePrompt({ conversationId: conversation.id, dryRun: query.dry_run }, context)
  },
})

export const conversationOperations = [
  createConversationOperation,
  listConversationsOperation,
  showConversation,
  changeConversation,
  removeConversation,
  cancelConversation,
  forkConversationOperation,
  recompileConversation,
]

/** A new conversation has nearly the same prompt as the default one. */
async function requireRoom(limit: number, { id }: Conversation, context: ServiceContext): Promise<void> {
  requireRoomForPrompt(limit, (await promptOf(id, context)).length, 'body.context_window_limit')
}

const showWithState = async (conversation: Parameters<typeof wireConversation>[0], context: ServiceContext) =>
  wireConversation(conversation, await readConversationState(conversation.id, context))

type ConversationFields = z.output<z.ZodObject<typeof COMMON>>

/** Omitted fields stay unchanged; null removes a value. */
function detailsFrom(
  fields: ConversationFields,
  before: ConversationDetails,
  context: ServiceContext,
): ConversationDetails {
  const wire: JsonObject = { ...before.wire }
  for (const key of ['model_settings', 'context_window_limit'] as const) {
    const value = fields[key]
    if (value === null) delete wire[key]
    else if (value !== undefined) wire[key] = value as Json
  }
  const { ownBlocks } = before
  const { summary, description, model, hidden } = {
    summary: merged(fields.summary, before.summary),
    description: merged(fields.description, before.description),
    model: merged(fields.model === undefined ? undefined : requireModelOrNull(fields.model, context), before.model),
    hidden: before.hidden,
  }
  return defined({
    summary,
    description,
    hidden,
    ownBlocks,
    model,
    wire: Object.keys(wire).length > 0 ? wire : undefined,
  })
}

const merged = <T>(sent: T | null | undefined, before: T | undefined): T | undefined =>
  sent === undefined ? before : (sent ?? undefined)

const requireModelOrNull = (handle: string | null, context: ServiceContext): TargetHandle | null =>
  handle === null ? null : (requireModel(handle, context) as TargetHandle)
