import type { ConversationId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { systemPrompt } from '../../engine/system-prompt.ts'
import type { Desk } from '../desk.ts'

/** What the model of this conversation is told first; it is kept from the first time it is asked for. */
export const promptOf = (conversationId: ConversationId, desk: Desk): Promise<string> =>
  systemPrompt({ organizationId: desk.organizationId, conversationId }, desk.world)

/** What the model of this conversation sees behind its prompt, and how many passages the prompt tells it of. */
export async function contextOf(
  conversationId: ConversationId,
  { world, organizationId }: Desk,
): Promise<{ messages: Message[]; passageCount: number }> {
  const [messages, materials] = await Promise.all([
    world.store.messages.context(conversationId),
    world.store.prompts.materials(organizationId, conversationId),
  ])
  return { messages, passageCount: materials?.passageCount ?? 0 }
}

/** The prompt as memory is now. Unless it is only tried, it is what the conversation is told from its next turn on. */
export async function recompilePrompt(
  { conversationId, dryRun }: { conversationId: ConversationId; dryRun: boolean },
  desk: Desk,
): Promise<string> {
  const { store, clock } = desk.world
  const materials = await store.prompts.materials(desk.organizationId, conversationId)
  if (!materials) throw new Problem('not-found', `There is no conversation ${conversationId}.`)
  const text = compilePrompt({ ...materials, at: clock.now() })
  if (!dryRun) await store.prompts.replace(desk.organizationId, conversationId, text)
  return text
}
