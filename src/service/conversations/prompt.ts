import type { ConversationId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { systemPrompt } from '../../engine/system-prompt.ts'
import type { ServiceContext } from '../service-context.ts'

/** The system prompt of a conversation. It is compiled and stored at the first request. */
export const promptOf = (conversationId: ConversationId, context: ServiceContext): Promise<string> =>
  systemPrompt({ organizationId: context.organizationId, conversationId }, context.deps)

/** The messages the model sees after the system prompt, and the number of passages that the prompt mentions. */
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

/** Compiles the prompt from current memory. Unless `dryRun`, the conversation uses it from its next turn on. */
export async function recompilePrompt(
  { conversationId, dryRun }: { conversationId: ConversationId; dryRun: boolean },
  context: ServiceContext,
): Promise<string> {
  const { store, clock } = context.deps
  const materials = await store.prompts.inputs(context.organizationId, conversationId)
  if (!materials) throw new Problem('not-found', `There is no conversation "${conversationId}".`)
  const text = compilePrompt({ ...materials, at: clock.now() })
  if (!dryRun) await store.prompts.replace(context.organizationId, conversationId, text)
  return text
}
