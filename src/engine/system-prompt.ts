import type { ConversationId, OrganizationId } from '../core/id.ts'
import { compilePrompt, isPlain } from '../core/memory-prompt.ts'
import type { Clock } from '../ports/clock.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import type { Store } from '../ports/store.ts'

type Parts = { store: Pick<Store, 'prompts'>; clock: Pick<Clock, 'now'> }

type Place = { organizationId: OrganizationId; conversationId: ConversationId }

/** What this conversation's model is told first: the text that is kept, or one that is compiled now and then kept. */
export async function systemPrompt(place: Place, parts: Parts): Promise<string> {
  const opened = await parts.store.prompts.open(place.organizationId, place.conversationId)
  return opened ? promptFrom(opened.system, place, parts) : ''
}

export async function promptFrom(
  materials: OpenedPrompt['system'],
  { organizationId, conversationId }: Place,
  { store, clock }: Parts,
): Promise<string> {
  if (typeof materials === 'string') return materials
  const text = compilePrompt({ ...materials, at: clock.now() })
  return isPlain(materials) ? text : store.prompts.keep(organizationId, conversationId, text)
}
