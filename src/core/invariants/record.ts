import type { Conversation } from '../agent.ts'
import type { LoggedEvent } from '../event.ts'
import type { ConversationId, MessageId, RunId } from '../id.ts'
import type { Message } from '../message.ts'
import type { Run } from '../run.ts'
import type { Decision } from '../tool-call.ts'

/** A run with its whole log and the messages it added, all as of one moment. */
export type RunRecord = {
  run: Run
  events: LoggedEvent[]
  messages: Message[]
  /** The workers alive at that moment; left out where nobody can tell. */
  liveWorkers?: ReadonlySet<string>
  /** Why some of it could not be read; what could be is there. */
  unreadable?: string
}

/**
 * A conversation, or a piece of a long one: its messages from position `from` on, cut where no call is open. The piece
 * with `isEnd` is the last. Left out, both mean the whole of it.
 */
export type ConversationRecord = {
  conversation: Conversation
  messages: Message[]
  from?: number
  isEnd?: boolean
  unreadable?: string
}

/** A run's stream as the chunk store keeps it. `ended` is what its head says. */
export type StreamRecord = {
  run: Run
  events: LoggedEvent[]
  chunks: { number: number; event: number; body: string }[]
  ended: boolean
}

/** What is known of each run when all runs are looked at together: small, because there may be many. */
export type RunSummary = {
  id: RunId
  conversationId: ConversationId
  phase: 'queued' | 'running' | 'waiting' | 'settled'
  inputs: MessageId[]
  /** The answer this run got to its approval request, the run it went to, and the inputs that had not been read. */
  answered?: { continuedBy: RunId; decisions: Decision[]; unread: MessageId[] }
  /** The answer this run was opened with. */
  inherited?: { from: RunId; decisions: Decision[] }
}

export type StoreRecord = { runs: RunSummary[] }

/** The four things Holdfast promises; each invariant is a part of one of them. */
type ProductPromise = 'nothing is lost' | 'nothing is stuck' | 'nothing happens twice' | 'nothing is hidden'

/** Something that holds at every commit. `check` answers with what is wrong, in words; nothing is good. */
export type Invariant<Subject> = {
  id: `I${number}`
  name: string
  sentence: string
  promise: ProductPromise
  check(subject: Subject): string[]
}

export type Violation = { invariant: string; sentence: string; promise: string; where: string; detail: string }
