import type { AgentId } from '../core/id.ts'

/** Files of agents in the home, outside of workspaces. */
export type AgentFiles = {
  /** Returns the number of files. */
  erase(agentId: AgentId): Promise<number>
  /** Agents that have files. */
  owners(): Promise<AgentId[]>
}
