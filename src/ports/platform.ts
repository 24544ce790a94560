import type { Attachment, Incoming, RawUpdate } from '../core/gateway/incoming.ts'
import type { Button } from '../core/gateway/outbound.ts'
import type { Progress } from '../core/gateway/progress.ts'
import type { Pace } from '../core/gateway/rate-budget.ts'
import type { CallFailure } from '../core/gateway/send-plan.ts'
import type { ChatAddress } from '../core/gateway/session.ts'

/** What a platform can do. The gateway decides by this, and never by the name of a platform. */
export type Capabilities = {
  /**
   * How a new message can be sent. `idempotent`: repeating a call with the same key makes no second message. `readable`:
   * whether a message arrived can be read from the chat. `blind`: neither.
   */
  sends: 'idempotent' | 'readable' | 'blind'
  /** A known message can be given another content, and doing so twice is harmless. */
  edits: boolean
  /** The longest text of one message, in UTF-16 units. */
  maxText: number
  /** The largest file that a bot can send. Absent: none. */
  maxFileBytes?: number
  /** Whether people are notified of an edit. If not, an answer that took long is a message of its own. */
  notifiesOfEdits: boolean
  buttons: boolean
  /** What is before the name of a command there: `/`, or `/holdfast ` where a bot has one command. */
  commandPrefix: string
  /** A thread in which the bot has a session is a conversation with it: no message there has to mention it. */
  threadsAreConversations: boolean
  /** Least time between two calls to one chat, and how many may come at once. */
  pace: Pace
}

export type BotIdentity = { id: string; name: string }

export type OutgoingFile = { name: string; mediaType: string; bytes: Uint8Array }

export type OutgoingText = {
  address: ChatAddress
  /** Markdown, as models write it. */
  text: string
  isPlain: boolean
  buttons?: Button[]
  /** Sent in place of the text, which describes it. */
  file?: OutgoingFile
}

/** The outcome of a call. A failure is a value; the call itself is never repeated by the platform. */
export type CallOutcome<T = object> = ({ type: 'done' } & T) | { type: 'failed'; failure: CallFailure }

/** What was said in a thread before the bot was mentioned there. */
export type EarlierMessage = { from: string | undefined; text: string }

export type ReceiveOptions = {
  /** Up to where updates are committed already. */
  cursor: string | undefined
  /** Resolves when the updates are on disk. Only then may they be acknowledged. */
  commit(updates: readonly RawUpdate[], cursor: string | undefined): Promise<void>
  /** The platform answered. */
  alive(): void
  /** Chats with a session, the last active first: what was said there while nothing was connected is read. */
  known(): Promise<ChatAddress[]>
  now(): number
  sleep(ms: number): Promise<void>
  signal: AbortSignal
}

/** One account of a platform: a bot and its token. */
export type PlatformConnection = {
  capabilities: Capabilities
  /** Who the token belongs to. Also registers the menu of commands. */
  identify(signal: AbortSignal): Promise<CallOutcome<{ identity: BotIdentity }>>
  /** Receives until the signal aborts or the platform fails. */
  receive(options: ReceiveOptions): Promise<CallFailure>
  /** What a stored update says. Pure: the same update gives the same answer. */
  read(raw: string): Incoming
  /** A message of which the content follows by edit. */
  place(
    target: { address: ChatAddress; replyTo?: string },
    signal: AbortSignal,
  ): Promise<CallOutcome<{ messageId: string }>>
  /**
   * A whole message at once; `key` makes it idempotent or findable where the platform has that. `isEarlier`: a former call
   * made the message, perhaps with another text.
   */
  send(
    message: OutgoingText & { key: string; replyTo?: string },
    signal: AbortSignal,
  ): Promise<CallOutcome<{ messageId: string; isEarlier?: boolean }>>
  /** `key`: this content of this message, so that a repeated edit can be recognized; an interim one has none. */
  edit(message: OutgoingText & { messageId: string; key?: string }, signal: AbortSignal): Promise<CallOutcome>
  /** What a turn has done so far, where the platform has another way to show it than an edit. Lossy; `text` is what an edit would say. */
  showProgress?(
    shown: { address: ChatAddress; messageId: string; progress: Progress; text: string },
    signal: AbortSignal,
  ): Promise<CallOutcome>
  /** The message that was sent with this key, perhaps with another text, not before `since`, on a `readable` platform. */
  find?(
    sent: {
      key: string
      text: string
      /** The name of the file, if it is one. */
      file?: string
      address: ChatAddress
      since: number
      /** Whether this is another message of ours. */
      isTaken(messageId: string): boolean
    },
    signal: AbortSignal,
  ): Promise<CallOutcome<{ messageId?: string }>>
  /** The last messages of a thread before this one, the oldest first; own ones have no name. */
  earlier?(
    place: { address: ChatAddress; before: string; limit: number },
    signal: AbortSignal,
  ): Promise<CallOutcome<{ messages: EarlierMessage[] }>>
  /** Answers the press of a button, which a person waits for. */
  acknowledgePress(pressId: string, text: string, signal: AbortSignal): Promise<CallOutcome>
  /** Shows that the bot is at work. Lossy. */
  showTyping(address: ChatAddress, signal: AbortSignal): Promise<CallOutcome>
  download(file: Attachment, signal: AbortSignal): Promise<CallOutcome<{ bytes: Uint8Array }>>
  close(): Promise<void>
}
