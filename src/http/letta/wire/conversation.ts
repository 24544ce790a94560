import { z } from 'zod'
import type { Conversation } from '../../../core/agent.ts'
import type { MessageId } from '../../../core/id.ts'
import { systemMessageId } from '../../../core/memory-prompt.ts'
import type { ConversationState } from '../../../ports/message-search-store.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'
import { approvalRequestId } from '../slice-ids.ts'
import { alwaysNull } from './constant-field.ts'
import { storedJson } from './stored-json.ts'

export const conversationSchema = z.lazy(() =>
  z
    .object({
      id: z.string().describe('Id of the conversation, or `default` for the default conversation of its agent.'),
      agent_id: z.string(),
      summary: z.string().nullable().describe('Title of the conversation, as the application set it.'),
      description: z.string().nullable(),
      hidden: z.boolean().describe('Whether lists of conversations leave this one out.'),
      in_context_message_ids: z
        .array(z.string())
        .describe('Messages in the context of the model, in order, the system prompt first.'),
      isolated_block_ids: z.array(z.string()).describe('Copies of blocks that only this conversation reads and edits.'),
      model: z
        .string()
        .nullable()
        .describe('Model of this conversation as provider/model; null for that of the agent.'),
      model_settings: storedJson.describe('Model settings as they were sent; null when none were.'),
      context_window_limit: storedJson.describe('Context window limit as it was sent; null when none was.'),
      archived: z.boolean(),
      archived_at: dateSchema.nullable(),
      last_message_at: dateSchema.nullable().describe('When the last message was stored, or the time set by a change.'),
      created_at: dateSchema,
      updated_at: dateSchema,
      created_by_id: alwaysNull,
      last_updated_by_id: alwaysNull,
    })
    .meta({ id: 'Conversation', description: 'One ordered log of messages with an agent.' }),
)

type WireConversation = z.output<typeof conversationSchema>

export function wireConversation(
  conversation: Conversation,
  { context, waiting }: ConversationState,
): WireConversation {
  const { id, agentId, isDefault, details = {}, createdAt, updatedAt, archivedAt, lastMessageAt } = conversation
  const { wire = {} } = details
  return {
    id: isDefault ? 'default' : id,
    agent_id: agentId,
    summary: details.summary ?? null,
    description: details.description ?? null,
    hidden: details.hidden ?? false,
    in_context_message_ids: shownIds(conversation, { context, isWaiting: waiting !== undefined }),
    isolated_block_ids: details.ownBlocks ?? [],
    model: details.model ?? null,
    model_settings: wire.model_settings ?? null,
    context_window_limit: wire.context_window_limit ?? null,
    archived: archivedAt !== undefined,
    archived_at: dateOf(archivedAt),
    last_message_at: dateOf(lastMessageAt),
    created_at: wireDate(createdAt),
    updated_at: wireDate(updatedAt ?? createdAt),
    created_by_id: null,
    last_updated_by_id: null,
  }
}

const dateOf = (at: number | undefined): string | null => (at === undefined ? null : wireDate(at))

/** The context by the ids that clients know. Clients treat an approval request as a message and look for it here. */
export function shownIds(
  { id }: Pick<Conversation, 'id'>,
  { context, isWaiting }: { context: ConversationState['context']; isWaiting: boolean },
): MessageId[] {
  const shown = context.flatMap((message, index): MessageId[] => {
    const next = context[index + 1]
    const isRequest = message.role === 'assistant' && (next ? next.role === 'approval' : isWaiting)
    return isRequest ? [message.id, approvalRequestId(message.id)] : [message.id]
  })
  return [systemMessageId(id), ...shown]
}
