import type { Agent } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { AgentId, BlockId, OrganizationId } from '../core/id.ts'
import type { NewMessage } from '../core/message.ts'
import type { Passage } from '../core/passage.ts'
import type { StopReason } from '../core/run.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** What is made together with an agent, in its transaction. */
export type AgentContents = {
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

export type TagStore = {
  list(
    organizationId: OrganizationId,
    query: { text?: string; after?: string; before?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<string[]>
  /** In alphabetical order. */
  ofAgents(organizationId: OrganizationId, agentIds: readonly AgentId[]): Promise<Map<AgentId, string[]>>
}
