import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { AgentId, BlockId, ConversationId, MessageId, OrganizationId, PassageId, ToolId } from '../core/id.ts'
import type { Message, MessageRole, NewMessage } from '../core/message.ts'
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
  /** What was said in its default conversation before it was made. */
  messages?: NewMessage[]
  /** The position of the first of them that its model is shown. */
  contextStart?: number
  newPassages?: Passage[]
  /** Made, or put in the place of what has their names. */
  newTools?: StoredTool[]
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
  /** Best first; without an agent, among those of all. */
  search(organizationId: OrganizationId, agentId: AgentId | undefined, query: PassageQuery): Promise<Passage[]>
  delete(organizationId: OrganizationId, agentId: AgentId, id: PassageId): Promise<boolean>
  vectors: PassageVectors
}

export type WaitingText = { number: number; organizationId: OrganizationId; agentId: AgentId; text: string }

export type NewVector = Pick<WaitingText, 'number' | 'agentId'> & {
  model: string
  result: { type: 'vector'; vector: number[] } | { type: 'refused'; detail: string }
}

/** What texts mean, as an embedding model tells. Follows them; never in a turn's transaction. */
export type VectorShelf = {
  /** Texts of all organisations that have none yet, in the order they were made. */
  waiting(after: number, limit: number): Promise<WaitingText[]>
  keep(vectors: readonly NewVector[]): Promise<void>
  /** Which models the vectors of each agent come from. */
  models(): Promise<{ organizationId: OrganizationId; agentId: AgentId; model: string }[]>
  /** Their texts wait again. */
  drop(agentId: AgentId, model: string): Promise<void>
}

/** How a question is placed, and by whom. */
export type Meaning = { model: string; vector: readonly number[] }

export type PassageVectors = VectorShelf & {
  /** Nearest first, of those that this model embedded; without an agent, among those of all. */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: PassageQuery & Meaning,
  ): Promise<Passage[]>
}

export type MessageVectors = VectorShelf & {
  /** Nearest first, of what was said and this model embedded. */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: Omit<RecallQuery, 'text' | 'skip'> & Meaning,
  ): Promise<Recalled[]>
}

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
  materials(organizationId: OrganizationId, id: ConversationId): Promise<PromptParts | undefined>
}

export type OpenedPrompt = { agent: Agent; conversation: Conversation; system: string | PromptParts }

export type PromptParts = {
  agent: Agent
  conversation: Conversation
  blocks: Block[]
  passageCount: number
  passageTags: string[]
}

export type RecallQuery = {
  /** Words to look for, whatever else stands between them; without any, the newest. */
  text: string
  roles?: readonly string[]
  from?: number
  to?: number
  limit: number
  /** How many of the best are passed over. */
  skip?: number
  conversationId?: ConversationId
}

/** Where a conversation stands, all of it at one moment. */
export type Standing = {
  /** What the model is shown, in order. */
  context: { id: MessageId; role: MessageRole }[]
  /** The answer whose calls wait for somebody's word. */
  waiting?: Message
  /** Of the agent, in whichever of its conversations. */
  lastRun: LastRun
}

/** A message and the agent it belongs to. */
export type Recalled = Message & { agentId: AgentId }

/** Everything an agent ever said or was told, in all of its conversations. */
export type RecallStore = {
  /** Undefined: there is no such conversation. */
  standing(organizationId: OrganizationId, id: ConversationId): Promise<Standing | undefined>
  /** Without an agent, what all agents of the organisation said. What a fork copied is found once, unless it is asked. */
  search(organizationId: OrganizationId, agentId: AgentId | undefined, query: RecallQuery): Promise<Recalled[]>
  /** Indexes what was said since, of all organisations, for about this long. Searches do so too, for what they search. */
  catchUp(forMs: number): Promise<'done' | 'more'>
  vectors: MessageVectors
  /** The messages of all agents, or of one conversation, in the order of time. */
  list(organizationId: OrganizationId, page: ListPage & { conversationId?: ConversationId }): Listed<Recalled>
}

export type TagStore = {
  list(
    organizationId: OrganizationId,
    query: { text?: string; after?: string; before?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<string[]>
  /** In alphabetical order. */
  ofAgents(organizationId: OrganizationId, agentIds: readonly AgentId[]): Promise<Map<AgentId, string[]>>
}
