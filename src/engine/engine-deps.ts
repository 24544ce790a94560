import type { ConversationId } from '../core/id.ts'
import type { Activity } from '../ports/activity.ts'
import type { Clock } from '../ports/clock.ts'
import type { Credentials } from '../ports/credentials.ts'
import type { Digest } from '../ports/digest.ts'
import type { Mcp } from '../ports/mcp.ts'
import type { Models } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { Shares } from '../ports/shares.ts'
import type { Store } from '../ports/store.ts'
import type { Streams } from '../ports/streams.ts'
import type { OutputSpills, ToolRegistry } from '../ports/tool.ts'
import type { ToolSources } from '../ports/tool-sources.ts'
import type { HistoryCache } from './history-cache.ts'

/** Dependencies of the engine. Each function takes the ones it uses. */
export type EngineDeps = {
  store: Store
  streams: Streams
  models: Models
  credentials: Credentials
  tools: ToolRegistry
  historyCache: HistoryCache
  mcp: Mcp
  sources: ToolSources
  /** Ends the processes of a conversation whose context is reset. */
  endProcesses(conversationId: ConversationId): Promise<void>
  spill: OutputSpills
  clock: Clock
  randomness: Randomness
  digest: Digest
  /** Absent: no organization has limits. */
  shares?: Shares
  /** Absent where no watchdog runs. */
  activity?: Activity
  /** Logs a fault that no caller can receive. `where` names the activity. */
  report(fault: unknown, where: string): void
}
