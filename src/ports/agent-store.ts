import type { Agent } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { AgentId, BlockId, OrganizationId } from '../core/id.ts'
import type { NewMessage } from '../core/message.ts'
import type { Passage } from '../core/passage.ts'
import type { StopReason } from '../core/run.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** Rows created in the same transaction as the agent. */
export type AgentContents = {
  newBlocks?: Block[]
  /** All block ids of the agent, including new blocks, in order. */
  blockIds?: BlockId[]
  tags?: string[]
  prompt?: string
  /** History of the default conversation, written before the first run. */
  messages?: NewMessage[]
  /** Position of the first message that the model sees. */
  contextStart?: number
  newPassages?: Passage[]
  /** Inserted, or replacing the stored tools with the same names. */
  newTools?: StoredTool[]
}

export type AgentFilter = {
  name?: string
  /** Matches text in the name or the description. */
  text?: string
  tags?: string[]
  allTags?: boolean
  blockId?: BlockId
  lastStopReason?: StopReason
  sortBy?: 'created_at' | 'updated_at' | 'last_run_completion'
}

/** `edit` must be a pure function: the store may call it more than once. */
export type AgentEdit = {
  edit?(agent: Agent): Agent
  tags?: string[]
  blockIds?: BlockId[]
  /** Clears the compiled prompts of the agent's conversations; the next turn compiles them again. */
  recompiles?: boolean
}

/** Outcome of the newest run that ended. */
export type LastRun = { stopReason?: StopReason; completedAt?: number; durationMs?: number }

export type TagStore = {
  list(
    organizationId: OrganizationId,
    query: { text?: string; after?: string; before?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<string[]>
  /** Tags of each agent, in alphabetical order. */
  ofAgents(organizationId: OrganizationId, agentIds: readonly AgentId[]): Promise<Map<AgentId, string[]>>
}
