import type { ConversationId, OrganizationId, RunId } from '../id.ts'
import type { InboundKind } from './incoming.ts'

/** Why an update became no run, in words for the operator. */
export const INBOUND_REASONS = {
  command: 'a command',
  press: 'a button',
  'press-refused': 'a button that has no effect any more, or for somebody else',
  stop: 'stopped the turn',
  'moved-chat': 'the chat has another id now',
  duplicate: 'the message was received before',
  merged: 'part of the message before it',
  stranger: 'a stranger: waits for pairing',
  'not-allowed': 'the sender is not on the allow-list',
  'group-not-allowed': 'the group is not configured',
  disabled: 'the account accepts no messages',
  'no-mention': 'the bot was not mentioned',
  bot: 'a bot',
  anonymous: 'the sender has no id',
  edited: 'a later edit of a message',
  'service-message': 'a notice of the platform',
  'unknown-kind': 'a kind of update that Holdfast does not know',
  empty: 'no text and no attachment',
  stopped: 'stopped before it reached the agent',
  'no-agent': 'the configured agent does not exist',
  unreadable: 'the update cannot be read',
  encrypted: 'end-to-end encrypted, which the bot cannot read',
  refused: 'the message was refused',
} as const

export type InboundReason = keyof typeof INBOUND_REASONS

/** `run`: it reached the run `runId`. `ended`: it became no run, for `reason`. */
export type InboundState = 'pending' | 'run' | 'ended'

/** One update of a platform, stored before it was acknowledged. */
export type InboundRow = {
  number: number
  organizationId: OrganizationId
  account: string
  key: string
  lane: string
  messageKey?: string
  senderId?: string
  kind: InboundKind
  raw: string
  receivedAt: number
  dueAt: number
  state: InboundState
  reason?: InboundReason
  /** What a pending one waits for. */
  note?: string
  /** The first row of the message that the platform split, once the parts are known. */
  head?: number
  /** The conversation of its session, if that changed while it waited. */
  conversationId?: ConversationId
  runId?: RunId
  endedAt?: number
}
