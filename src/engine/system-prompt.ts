import type { ConversationId, OrganizationId } from '../core/id.ts'
import { compilePrompt, isPlain } from '../core/memory-prompt.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

type Parts = { store: Pick<Store, 'prompts'>; clock: Pick<Clock, 'now'> }

type Place = { organizationId: OrganizationId; conversationId: ConversationId }

/** What this conversation's model is told first: the text that is kept, or one that is compiled now and then kept. */
export async function systemPrompt(
  { organizationId, conversationId }: Place,
  { store, clock }: Parts,
): Promise<string> {
  const kept = await store.prompts.get(organizationId, conversationId)
  if (kept !== undefined) return kept
  const materials = await store.prompts.materials(organizationId, conversationId)
  if (!materials) return ''
  const text = compilePrompt({ ...materials, at: clock.now() })
  return isPlain(materials) ? text : store.prompts.keep(organizationId, conversationId, text)
}
