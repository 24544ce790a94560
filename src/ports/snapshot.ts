import type { Conversation } from '../core/agent.ts'
import type { LoggedEvent } from '../core/event.ts'
import type { Message } from '../core/message.ts'
import type { Run } from '../core/run.ts'

/** Everything, read-only and in pages, for whoever checks the invariants of a live database. */
export type SnapshotReader = {
  runs(): AsyncIterable<{ run: Run; events: LoggedEvent[]; messages: Message[] }>
  conversations(): AsyncIterable<{ conversation: Conversation; messages: Message[] }>
  liveWorkers(): Promise<Set<string>>
}
