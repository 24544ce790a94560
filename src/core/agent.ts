import type { AdmissionPolicy } from './admission.ts'
import type { CommandApproval } from './command-approval.ts'
import type { AgentId, BlockId, ConversationId, OrganizationId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { SessionExpiry } from './session-expiry.ts'
import type { TargetHandle } from './target.ts'

/** The definition that users edit; turns never change it. */
export type Agent = {
  id: AgentId
  organizationId: OrganizationId
  name: string
  system: string
  model: TargetHandle
  /** Failover targets; every turn starts at `model` again. */
  fallback: TargetHandle[]
  tools: string[]
  settings?: AgentSettings
  /** Names and values, encrypted with the key of the home. */
  sealedSecrets?: string
  createdAt: number
  updatedAt: number
}

/** Optional settings beyond name, prompt, models and tools. */
export type AgentSettings = {
  /** Present on agents whose prompt is compiled from memory; the values are the official client's. */
  agentType?: string
  description?: string
  metadata?: JsonObject
  timezone?: string
  hidden?: boolean
  /** What a message does while a turn runs, unless its request says so. */
  whenBusy?: AdmissionPolicy
  /** Absent: sessions never end by themselves. */
  sessionExpiry?: SessionExpiry
  /** Absent: those that destroy or cannot be read. */
  commandApproval?: CommandApproval
  /** Domains that its tools from source may reach, beside those of each tool. */
  egress?: string[]
  /** Overrides, for each tool name, whether a call needs approval. */
  approvals?: Record<string, boolean>
  /** Requested tool names that did not exist when the agent was created. */
  missingTools?: string[]
  /** Contents of the imported file that are not supported here. */
  notImported?: string[]
  /** Fields that only clients read; stored and returned unchanged. */
  wire?: JsonObject
}

export type Conversation = {
  id: ConversationId
  organizationId: OrganizationId
  agentId: AgentId
  isDefault: boolean
  createdAt: number
  lastMessageAt?: number
  /** Messages before this position are not in the model's context (compacted, expired or reset). */
  contextStart: number
  /** Messages before this position were cleared: lists and search leave them out, and their runs still have them. */
  listStart?: number
  nextPosition: number
  updatedAt?: number
  archivedAt?: number
  details?: ConversationDetails
}

/** Optional settings of a conversation; absent fields fall back to its agent. */
export type ConversationDetails = {
  summary?: string
  description?: string
  /** Left out of lists. */
  hidden?: boolean
  model?: TargetHandle
  /** A client that names this conversation continues in that fork: an earlier message was edited there. */
  continuedIn?: ConversationId
  /** The conversation that clients name for this fork. */
  branchOf?: ConversationId
  /** Copies of blocks that this conversation alone reads and edits. */
  ownBlocks?: BlockId[]
  /** Fields that only clients read; stored and returned unchanged. */
  wire?: JsonObject
}

/** The targets of a turn, primary first and only once; `usual` is the default fallback of agents without their own. */
export const chainOf = ({ model, fallback }: Agent, usual: readonly TargetHandle[] = []): TargetHandle[] => [
  model,
  ...(fallback.length > 0 ? fallback : usual).filter((handle) => handle !== model),
]
