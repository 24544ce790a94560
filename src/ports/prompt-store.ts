import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { ConversationId, OrganizationId } from '../core/id.ts'

/** What is said first in each conversation. */
export type PromptStore = {
  /** The memory of one conversation: its agent's blocks, with its own in place of those it has a copy of. */
  blocks(organizationId: OrganizationId, conversationId: ConversationId): Promise<Block[]>
  /** With the agent: the text that is kept, or what one is made of. */
  open(organizationId: OrganizationId, id: ConversationId): Promise<OpenedPrompt | undefined>
  /** Keeps the text unless another is kept already; answers with the one that is. */
  keep(organizationId: OrganizationId, id: ConversationId, text: string): Promise<string>
  replace(organizationId: OrganizationId, id: ConversationId, text: string): Promise<void>
  /** What it is made of, at one moment. */
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
