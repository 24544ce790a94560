import type { AgentId, BlockId, ConversationId, OrganizationId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { TargetHandle } from './target.ts'

/** The definition people edit: it is never changed by a turn. */
export type Agent = {
  id: AgentId
  organizationId: OrganizationId
  name: string
  system: string
  model: TargetHandle
  /** Where a turn goes when the model fails; every turn starts at `model` again. */
  fallback: TargetHandle[]
  tools: string[]
  settings?: AgentSettings
  /** Names and values, under the key of the home. */
  sealedSecrets?: string
  createdAt: number
  updatedAt: number
}

/** What an agent may say beyond its name, prompt, models and tools. */
export type AgentSettings = {
  /** Present on agents whose prompt is compiled from memory; its words are those of the official client. */
  agentType?: string
  description?: string
  metadata?: JsonObject
  timezone?: string
  hidden?: boolean
  /** Whether a tool of this agent asks first, where that differs from what the tool itself says. */
  approvals?: Record<string, boolean>
  /** Names that were asked for when the agent was made and that nothing here answers to. */
  missingTools?: string[]
  /** What was in the file it was imported from and is not kept here. */
  notImported?: string[]
  /** Kept and given back as it came: what only clients read. */
  wire?: JsonObject
}

export type Conversation = {
  id: ConversationId
  organizationId: OrganizationId
  agentId: AgentId
  isDefault: boolean
  createdAt: number
  lastMessageAt?: number
  /** Messages before this position were compacted away from the model's view. */
  contextStart: number
  nextPosition: number
  updatedAt?: number
  archivedAt?: number
  details?: ConversationDetails
}

/** What a conversation says of itself; where it says nothing, its agent counts. */
export type ConversationDetails = {
  summary?: string
  description?: string
  /** Not in lists. */
  hidden?: boolean
  model?: TargetHandle
  /** Copies of blocks that this conversation alone reads and edits. */
  ownBlocks?: BlockId[]
  /** Kept and given back as it came: what only clients read. */
  wire?: JsonObject
}

/** The whole chain a turn of this agent may walk, primary first; `usual` is for agents that have no chain of their own. */
export const chainOf = ({ model, fallback }: Agent, usual: readonly TargetHandle[] = []): TargetHandle[] => [
  model,
  ...(fallback.length > 0 ? fallback : usual.filter((handle) => handle !== model)),
]
