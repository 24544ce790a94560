import type { ConversationId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { Credentials } from '../ports/credentials.ts'
import type { Digest } from '../ports/digest.ts'
import type { Mcp } from '../ports/mcp.ts'
import type { Models } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { Store } from '../ports/store.ts'
import type { Streams } from '../ports/streams.ts'
import type { OutputSpill, ToolRegistry } from '../ports/tool.ts'
import type { HistoryCache } from './history-cache.ts'

/** Everything a turn needs from outside. Each file asks for the part it uses. */
export type EngineDeps = {
  store: Store
  streams: Streams
  models: Models
  credentials: Credentials
  tools: ToolRegistry
  historyCache: HistoryCache
  mcp: Mcp
  /** Ends what tools left running for a conversation whose context is reset. */
  endProcesses(conversationId: ConversationId): Promise<void>
  spill: OutputSpill
  clock: Clock
  randomness: Randomness
  digest: Digest
  /** Faults that no caller is there to be told of: the operator must see them. */
  report(fault: unknown, where: string): void
}
