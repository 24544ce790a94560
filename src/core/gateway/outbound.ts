import type { OrganizationId, RunId } from '../id.ts'

export type Button = { label: string; data: string }

/** A file whose bytes are stored until it is sent. */
export type OutboundFile = { id: string; name: string; mediaType: string; bytes: number }

/** What a message shall say. Empty text: a placeholder, until it is revised. With a file, the text only describes it. */
export type OutboundBody = { text: string; buttons?: Button[]; file?: OutboundFile }

/**
 * `sending`: a call may have been made and its answer is not committed yet. `unknown`: it may or may not have arrived, and
 * it is never repeated. A sent message becomes `pending` again when its content is revised.
 */
export const OUTBOUND_STATES = ['pending', 'sending', 'sent', 'unknown', 'failed'] as const
export type OutboundState = (typeof OUTBOUND_STATES)[number]

/** A message of the bot, committed before the platform is called. `key` is unique in its account. */
export type OutboundRow = {
  number: number
  organizationId: OrganizationId
  account: string
  key: string
  chatId: string
  thread?: string
  /** The message it answers, where the platform shows that. */
  replyTo?: string
  isPrivate: boolean
  runId?: RunId
  body: OutboundBody
  /** Grows with each revision of the content. */
  version: number
  state: OutboundState
  /** The platform's id, once it is known. */
  messageId?: string
  /** Calls that counted: waits that the platform asked for, and a platform that is down, do not. */
  attempts: number
  /** Calls that failed since the last success, for the backoff. */
  failures: number
  /** Placeholders of which it is unknown whether they arrived. */
  lost: number
  /** The platform refused the formatting, so the text is sent plain. */
  isPlain: boolean
  dueAt: number
  error?: string
  /** The chat was told that this message may be missing. */
  isTold: boolean
  createdAt: number
  updatedAt: number
}

export type NewOutbound = Pick<
  OutboundRow,
  'organizationId' | 'account' | 'key' | 'chatId' | 'thread' | 'replyTo' | 'isPrivate' | 'runId' | 'body' | 'createdAt'
>

/** What a call changes. */
export type SendProgress = Pick<
  OutboundRow,
  'state' | 'messageId' | 'attempts' | 'failures' | 'lost' | 'isPlain' | 'thread' | 'dueAt' | 'error'
>
