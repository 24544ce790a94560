/** Where a message was said. `thread`: a topic or thread, which has its own session. */
export type Chat = { id: string; kind: 'private' | 'group' | 'channel'; title?: string; thread?: string }

export type Sender = { id: string; name: string; isBot: boolean }

export type Attachment = {
  kind: 'image' | 'file' | 'voice'
  /** The platform's handle for the download. */
  handle: string
  name?: string
  mediaType?: string
  bytes?: number
  /** Of voice notes. */
  seconds?: number
}

/** What an update of a platform says, in the words of the gateway. */
export type Incoming =
  | {
      type: 'message'
      chat: Chat
      sender: Sender
      messageId: string
      text: string
      attachments: readonly Attachment[]
      /** Addressed to the bot: by a mention, by a reply to it, or because the chat is private. */
      isAddressed: boolean
      /** Messages of one album. */
      album?: string
    }
  | { type: 'press'; chat: Chat; sender: Sender; pressId: string; data: string }
  | { type: 'stop'; chat: Chat; sender: Sender }
  /** The chat has another id from now on. */
  | { type: 'moved'; chat: Chat; to: string }
  /** What was said there cannot be read at all: the chat is told why, at most once a day. */
  | { type: 'unreadable'; chat: Chat; sender: Sender; reason: 'encrypted'; say: string }
  | { type: 'ignored'; reason: 'unknown-kind' | 'edited' | 'service-message' | 'anonymous'; chat?: Chat }

/** One update as it arrived: stored before it is acknowledged. */
export type RawUpdate = {
  /** Identifies the update in its account, also when it is delivered again. */
  key: string
  /** The chat and its thread: updates of one lane are handled in their order. */
  lane: string
  /** Identifies the message in its account; absent for what is not a message. */
  messageKey?: string
  senderId?: string
  kind: InboundKind
  raw: string
  /** How long to wait for further parts before the message is handled. */
  holdMs: number
}

/** `command`, `press` and `stop` do not wait for earlier messages of their lane. */
export const INBOUND_KINDS = ['message', 'command', 'press', 'stop', 'other'] as const
export type InboundKind = (typeof INBOUND_KINDS)[number]
