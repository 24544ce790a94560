import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { AgentId, BlockId, ConversationId, MessageId, OrganizationId, PassageId, ToolId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import type { Passage, PassageQuery } from '../core/passage.ts'
import type { StopReason } from '../core/run.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** A list in either direction. `after` and `before` are ids in its own order: `after` goes on, `before` goes back. */
export type ListPage = { limit: number; order: 'asc' | 'desc'; after?: string; before?: string }

/** Undefined: the cursor is not the id of anything in this organisation. */
export type Listed<T> = Promise<T[] | undefined>

/** What is made together with an agent, in its transaction. */
export type AgentParts = {
  newBlocks?: Block[]
  /** All of its blocks, new ones included, in order. */
  blockIds?: BlockId[]
  tags?: string[]
  prompt?: string
}

export type AgentFilter = {
  name?: string
  /** In the name or the description. */
  text?: string
  tags?: string[]
  allTags?: boolean
  blockId?: BlockId
  lastStopReason?: StopReason
  sortBy?: 'created_at' | 'updated_at' | 'last_run_completion'
}

/** `edit` must be a pure function: it may be asked more than once. */
export type AgentEdit = {
  edit?(agent: Agent): Agent
  tags?: string[]
  blockIds?: BlockId[]
  /** Its conversations are told the new text from their next turn on. */
  recompiles?: boolean
}

/** The newest run that ended. */
export type LastRun = { stopReason?: StopReason; completedAt?: number; durationMs?: number }

export type BlockFilter = {
  label?: string
  name?: string
  labelText?: string
  valueText?: string
  descriptionText?: string
  tags?: string[]
  allTags?: boolean
  isTemplate?: boolean
  agentsOver?: number
  agentsUnder?: number
}

export type Attached = 'attached' | 'already' | 'label-taken' | 'not-found'

export type BlockStore = {
  create(block: Block): Promise<void>
  get(organizationId: OrganizationId, id: BlockId): Promise<Block | undefined>
  list(organizationId: OrganizationId, filter: BlockFilter, page: ListPage): Listed<Block>
  /** `label-taken`: an agent that has it has another block of the new label. */
  update(
    organizationId: OrganizationId,
    id: BlockId,
    edit: (block: Block) => Block,
  ): Promise<Block | 'label-taken' | undefined>
  delete(organizationId: OrganizationId, id: BlockId): Promise<boolean>
  /** In the order they were attached. */
  ofAgent(organizationId: OrganizationId, agentId: AgentId): Promise<Block[]>
  attach(organizationId: OrganizationId, agentId: AgentId, blockId: BlockId): Promise<Attached>
  detach(organizationId: OrganizationId, agentId: AgentId, blockId: BlockId): Promise<boolean>
}

export type StoredToolStore = {
  create(tool: StoredTool): Promise<'created' | 'name-taken'>
  get(organizationId: OrganizationId, id: ToolId): Promise<StoredTool | undefined>
  /** By name, the ones there are. */
  named(organizationId: OrganizationId, names: readonly string[]): Promise<StoredTool[]>
  all(organizationId: OrganizationId): Promise<StoredTool[]>
  /** A new name is the new name on every agent that has it. */
  update(
    organizationId: OrganizationId,
    id: ToolId,
    edit: (tool: StoredTool) => StoredTool,
  ): Promise<StoredTool | 'name-taken' | undefined>
  /** Agents no longer have it. */
  delete(organizationId: OrganizationId, id: ToolId): Promise<boolean>
}

export type PassageStore = {
  /** The prompts of the agent's conversations are compiled anew: they say how much there is to find. */
  insert(passage: Passage): Promise<void>
  list(organizationId: OrganizationId, agentId: AgentId, page: ListPage & { text?: string }): Listed<Passage>
  /** Best first. */
  search(organizationId: OrganizationId, agentId: AgentId, query: PassageQuery): Promise<Passage[]>
  delete(organizationId: OrganizationId, agentId: AgentId, id: PassageId): Promise<boolean>
}

/** What is said first in each conversation. */
export type PromptStore = {
  get(organizationId: OrganizationId, id: ConversationId): Promise<string | undefined>
  /** Keeps the text unless another is kept already; answers with the one that is. */
  keep(organizationId: OrganizationId, id: ConversationId, text: string): Promise<string>
  replace(organizationId: OrganizationId, id: ConversationId, text: string): Promise<void>
  /** What it is made of, at one moment. */
  materials(organizationId: OrganizationId, id: ConversationId): Promise<PromptParts | undefined>
}

export type PromptParts = {
  agent: Agent
  conversation: Conversation
  blocks: Block[]
  passageCount: number
  passageTags: string[]
}

export type RecallQuery = {
  words: readonly string[]
  roles?: readonly string[]
  from?: number
  to?: number
  limit: number
}

/** Everything an agent ever said or was told, in all of its conversations. */
export type RecallStore = {
  /** What the model is shown of the agent's default conversation, as ids in order. */
  contextIds(
    organizationId: OrganizationId,
    agentId: AgentId,
  ): Promise<{ conversationId: ConversationId; messageIds: MessageId[] } | undefined>
  search(organizationId: OrganizationId, agentId: AgentId, query: RecallQuery): Promise<Message[]>
}

export type TagStore = {
  list(
    organizationId: OrganizationId,
    query: { text?: string; after?: string; before?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<string[]>
  /** In alphabetical order. */
  ofAgents(organizationId: OrganizationId, agentIds: readonly AgentId[]): Promise<Map<AgentId, string[]>>
}
