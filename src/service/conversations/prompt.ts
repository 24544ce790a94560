import type { ConversationId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import { Problem } from '../../core/problem.ts'
import { systemPrompt } from '../../engine/system-prompt.ts'
import type { Desk } from '../desk.ts'

/** What the model of this conversation is told first; it is kept from the first time it is asked for. */
export const promptOf = (conversationId: ConversationId, desk: Desk): Promise<string> =>
  systemPrompt({ organizationId: desk.organizationId, conversationId }, desk.world)

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
