import type { AgentId } from '../core/id.ts'

/** `file` is the path below the home. */
export type SharedFile = { file: string; why: string }

/** Files of agents in the home, outside of workspaces. */
export type AgentFiles = {
  /** Returns the number of files. */
  erase(agentId: AgentId): Promise<number>
  /** Files that do not say whose words they have: an erasure names them and leaves them. */
  shared(): Promise<SharedFile[]>
  /** Agents that have files. */
  owners(): Promise<AgentId[]>
}
