import type { ConversationId, OrganizationId } from '../core/id.ts'
import { compilePrompt, hasPlainPrompt } from '../core/memory-prompt.ts'
import type { Clock } from '../ports/clock.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import type { Store } from '../ports/store.ts'

type SystemPromptDeps = { store: Pick<Store, 'prompts'>; clock: Pick<Clock, 'now'> }

type ConversationRef = { organizationId: OrganizationId; conversationId: ConversationId }

/** The system prompt of a conversation: the stored text, or one that is compiled now and stored. */
export async function systemPrompt(conversation: ConversationRef, deps: SystemPromptDeps): Promise<string> {
  const opened = await deps.store.prompts.open(conversation.organizationId, conversation.conversationId)
  return opened ? promptFrom(opened.system, conversation, deps) : ''
}

export async function promptFrom(
  materials: OpenedPrompt['system'],
  { organizationId, conversationId }: ConversationRef,
  { store, clock }: SystemPromptDeps,
): Promise<string> {
  if (typeof materials === 'string') return materials
  const text = compilePrompt({ ...materials, at: clock.now() })
  return hasPlainPrompt(materials) ? text : store.prompts.keep(organizationId, conversationId, text)
}
