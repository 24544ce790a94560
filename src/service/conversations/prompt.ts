import type { ConversationId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { systemPrompt } from '../../engine/system-prompt.ts'
import type { ServiceContext } from '../service-context.ts'

/** What the model of this conversation is told first; it is kept from the first time it is asked for. */
export const promptOf = (conversationId: ConversationId, serviceContext: ServiceContext): Promise<string> =>
  systemPrompt({ organizationId: serviceContext.organizationId, conversationId }, serviceContext.deps)

/** What the model of this conversation sees behind its prompt, and how many passages the prompt tells it of. */
export async function readModelContext(
  conversationId: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<{ messages: Message[]; passageCount: number }> {
  const [messages, materials] = await Promise.all([
    deps.store.messages.context(conversationId),
    deps.store.prompts.inputs(organizationId, conversationId),
  ])
  return { messages, passageCount: materials?.passageCount ?? 0 }
}

/** The prompt as memory is now. Unless it is only tried, it is what the conversation is told from its next turn on. */
export async function recompilePrompt(
  { conversationId, dryRun }: { conversationId: ConversationId; dryRun: boolean },
  serviceContext: ServiceContext,
): Promise<string> {
  const { store, clock } = serviceContext.deps
  const materials = await store.prompts.inputs(serviceContext.organizationId, conversationId)
  if (!materials) throw new Problem('not-found', `There is no conversation ${conversationId}.`)
  const text = compilePrompt({ ...materials, at: clock.now() })
  if (!dryRun) await store.prompts.replace(serviceContext.organizationId, conversationId, text)
  return text
}
