import type { AgentId, OrganizationId } from '../../../core/id.ts'
import type { Passage, PassageQuery } from '../../../core/passage.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { MessageSearchQuery, MessageWithAgent } from '../../../ports/message-search-store.ts'
import type { Randomness } from '../../../ports/randomness.ts'
import type { Store } from '../../../ports/store.ts'

/** Memory tools read only: their writes are part of the answer and are committed with it. */
export type MemoryToolDeps = {
  store: Pick<Store, 'passages' | 'prompts' | 'messageSearch' | 'blocks'>
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
  /** Hybrid search; absent where passages are searched by words only. */
  findPassages?(question: {
    organizationId: OrganizationId
    agentId: AgentId
    query: PassageQuery
    signal: AbortSignal
  }): Promise<{ found: { item: Passage }[]; fallback?: string }>
  /** The same for messages. */
  findMessages?(question: {
    organizationId: OrganizationId
    agentId: AgentId
    query: MessageSearchQuery
    signal: AbortSignal
  }): Promise<{ found: { item: MessageWithAgent }[]; fallback?: string }>
}
