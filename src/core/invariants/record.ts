import type { Conversation } from '../agent.ts'
import type { LoggedEvent } from '../event.ts'
import type { ConversationId, MessageId, RunId } from '../id.ts'
import type { Message } from '../message.ts'
import type { Run } from '../run.ts'
import type { Decision } from '../tool-call.ts'

/** A run with its whole log and its messages, read at one moment. */
export type RunRecord = {
  run: Run
  events: LoggedEvent[]
  messages: Message[]
  /** The workers alive at that moment; absent if unknown. */
  liveWorkers?: ReadonlySet<string>
  /** Why part of the record could not be read; the rest is present. */
  unreadable?: string
}

/**
 * A conversation, or a page of a long one: its messages from position `from` on, cut where no call is open. `isEnd`
 * marks the last page. Without both it is the whole conversation.
 */
export type ConversationRecord = {
  conversation: Conversation
  messages: Message[]
  from?: number
  isEnd?: boolean
  unreadable?: string
}

/** A run's stream as stored. `ended` comes from the head of the stream. */
export type StreamRecord = {
  run: Run
  events: LoggedEvent[]
  chunks: { number: number; event: number; body: string }[]
  ended: boolean
}

/** The part of each run that is checked across all runs: small, because there may be many. */
export type RunSummary = {
  id: RunId
  conversationId: ConversationId
  phase: 'queued' | 'running' | 'waiting' | 'settled'
  inputs: MessageId[]
  /** The runs that its unread steers have, with their inputs. */
  moved?: { to: RunId; inputs: MessageId[] }[]
  /** The answer to this run's approval request, the run that continues it, and the unread inputs. */
  answered?: { continuedBy: RunId; decisions: Decision[]; unread: MessageId[] }
  /** It failed because its conversation was too long, although more of it could have been left out. */
  overflowed?: true
  /** The approval answer that this run continues with. */
  inherited?: { from: RunId; decisions: Decision[] }
}

export type StoreRecord = { runs: RunSummary[] }

/** The four promises of Holdfast; each invariant belongs to one of them. */
type ProductPromise = 'nothing is lost' | 'nothing is stuck' | 'nothing happens twice' | 'nothing is hidden'

/** A condition that holds at every commit. `check` returns the faults as texts; an empty list means it holds. */
export type Invariant<Subject> = {
  id: `I${number}`
  name: string
  sentence: string
  promise: ProductPromise
  check(subject: Subject): string[]
}

export type Violation = { invariant: string; sentence: string; promise: string; where: string; detail: string }
