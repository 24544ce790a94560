import type { Agent } from '../core/agent.ts'
import type { AgentId, ConversationId, RunId } from '../core/id.ts'

/** For the sweep over all organizations that ends sessions. */
export type SessionStore = {
  /** Agents whose sessions end by themselves, in order of their numbers. */
  policies(after: number, limit: number): Promise<{ number: number; agent: Agent }[]>
  /** Conversations with a context in which nothing is active, and nothing was since this moment. */
  idle(agentId: AgentId, since: number, limit: number): Promise<IdleSession[]>
}

/** `lastRun`: its newest run. A session may end only while that is so. */
export type IdleSession = { conversationId: ConversationId; lastRun: RunId; lastActivity: number }
