import type { Conversation } from '../../../core/agent.ts'
import type { MessageId } from '../../../core/id.ts'
import { systemMessageId } from '../../../core/memory-prompt.ts'
import type { Standing } from '../../../ports/memory-store.ts'
import { approvalRequestId } from '../slice-ids.ts'
import { wireDate } from './message.ts'

export function wireConversation(conversation: Conversation, { context, waiting }: Standing) {
  const { id, agentId, isDefault, details = {}, createdAt, updatedAt, archivedAt, lastMessageAt } = conversation
  const { wire = {} } = details
  return {
    ...{ id: isDefault ? 'default' : id, agent_id: agentId },
    ...{ summary: details.summary ?? null, description: details.description ?? null, hidden: details.hidden ?? false },
    in_context_message_ids: shownIds(conversation, { context, isWaiting: waiting !== undefined }),
    ...{
      isolated_block_ids: details.ownBlocks ?? [],
      model: details.model ?? null,
      model_settings: wire.model_settings ?? null,
    },
    context_window_limit: wire.context_window_limit ?? null,
    ...{ archived: archivedAt !== undefined, archived_at: dateOf(archivedAt) },
    ...{ last_message_at: dateOf(lastMessageAt), created_at: wireDate(createdAt) },
    ...{ updated_at: wireDate(updatedAt ?? createdAt), created_by_id: null, last_updated_by_id: null },
  }
}

const dateOf = (at: number | undefined): string | null => (at === undefined ? null : wireDate(at))

/**
 * What the model is shown, by the ids clients know. A request for approval is a message of its own to them, and whoever
 * waits with one looks for it here.
 */
export function shownIds(
  { id }: Pick<Conversation, 'id'>,
  { context, isWaiting }: { context: Standing['context']; isWaiting: boolean },
): MessageId[] {
  const shown = context.flatMap((message, index): MessageId[] => {
    const next = context[index + 1]
    const isRequest = message.role === 'assistant' && (next ? next.role === 'approval' : isWaiting)
    return isRequest ? [message.id, approvalRequestId(message.id)] : [message.id]
  })
  return [systemMessageId(id), ...shown]
}
