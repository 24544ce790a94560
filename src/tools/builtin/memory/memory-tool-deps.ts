import type { AgentId, OrganizationId } from '../../../core/id.ts'
import type { Passage, PassageQuery } from '../../../core/passage.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { MessageSearchQuery, MessageWithAgent } from '../../../ports/message-search-store.ts'
import type { Randomness } from '../../../ports/randomness.ts'
import type { Store } from '../../../ports/store.ts'

/** What memory tools look at. They write nothing: what they want written rides in their answer. */
export type MemoryToolDeps = {
  store: Pick<Store, 'passages' | 'prompts' | 'messageSearch'>
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
  /** Absent where passages are found by words alone. */
  findPassages?(question: {
    organizationId: OrganizationId
    agentId: AgentId
    query: PassageQuery
    signal: AbortSignal
  }): Promise<{ found: { item: Passage }[]; fallback?: string }>
  /** The same for what was said. */
  findMessages?(question: {
    organizationId: OrganizationId
    agentId: AgentId
    query: MessageSearchQuery
    signal: AbortSignal
  }): Promise<{ found: { item: MessageWithAgent }[]; fallback?: string }>
}
