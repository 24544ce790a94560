import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { ConversationId, OrganizationId } from '../core/id.ts'

/** Compiled system prompts of conversations. */
export type PromptStore = {
  /** Blocks of one conversation: the agent's blocks, with its own copies in their place. */
  blocks(organizationId: OrganizationId, conversationId: ConversationId): Promise<Block[]>
  /** The agent and conversation, with the compiled prompt or the inputs to compile it from. */
  open(organizationId: OrganizationId, id: ConversationId): Promise<OpenedPrompt | undefined>
  /** Stores the prompt unless one is stored already; returns the stored one. */
  keep(organizationId: OrganizationId, id: ConversationId, text: string): Promise<string>
  replace(organizationId: OrganizationId, id: ConversationId, text: string): Promise<void>
  /** The inputs of the prompt, from one snapshot. */
  inputs(organizationId: OrganizationId, id: ConversationId): Promise<PromptInputs | undefined>
}

export type OpenedPrompt = { agent: Agent; conversation: Conversation; system: string | PromptInputs }

export type PromptInputs = {
  agent: Agent
  conversation: Conversation
  blocks: Block[]
  passageCount: number
  passageTags: string[]
}
