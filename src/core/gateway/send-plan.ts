import { defined } from '../defined.ts'
import type { OutboundRow, OutboundState, SendProgress } from './outbound.ts'

/** Why a call to a platform failed, and what is known about its effect. */
export type CallFailure = {
  kind: CallFailureKind
  detail: string
  /** For how long the platform asks to wait. */
  retryAfterMs?: number
  /** The new id of a chat that moved. */
  movedTo?: string
}

export type CallFailureKind =
  /** The request was made and its answer was lost: it may have had its effect. */
  | 'unknown'
  /** The request was not made: the platform could not be reached. */
  | 'unreachable'
  | 'rate-limited'
  /** The bot was blocked, the chat or the person is gone. */
  | 'dead-target'
  | 'bad-format'
  | 'thread-gone'
  | 'message-gone'
  | 'moved'
  | 'too-long'
  | 'too-large'
  /** The platform refuses the token. */
  | 'unauthorized'
  /** Another program receives for this bot. */
  | 'conflict'
  | 'refused'
  | 'stopped'

type Capabilities = { sends: 'idempotent' | 'readable' | 'blind'; edits: boolean }

/**
 * `place`: a message without content, because its arrival cannot be proven. `edit`: the content of a known message.
 * `send`: content and message at once.
 */
export type Call = 'place' | 'edit' | 'send'

/** The next call for a message. An answer is never sent where a lost response would leave it unknown, if that can be avoided. */
export function nextCall({ messageId }: Pick<OutboundRow, 'messageId'>, { sends, edits }: Capabilities): Call {
  if (messageId !== undefined) return 'edit'
  return sends === 'blind' && edits ? 'place' : 'send'
}

/** What follows for the row. `wait`: when it is tried again. */
type Consequence = {
  state: OutboundState
  wait?: 'backoff' | 'asked' | 'now'
  spends?: boolean
  forgets?: 'message' | 'format' | 'thread'
}

const FAILED: Consequence = { state: 'failed' }
const RETRY: Consequence = { state: 'pending', wait: 'backoff', spends: true }

/** One table for each failure; `unknown` depends on the call and is below. */
const AFTER: Record<Exclude<CallFailureKind, 'unknown'>, Consequence> = {
  unreachable: { state: 'pending', wait: 'backoff' },
  'rate-limited': { state: 'pending', wait: 'asked' },
  'dead-target': FAILED,
  'bad-format': { state: 'pending', wait: 'now', forgets: 'format' },
  'thread-gone': { state: 'pending', wait: 'now', forgets: 'thread', spends: true },
  'message-gone': { state: 'pending', wait: 'now', forgets: 'message', spends: true },
  moved: { state: 'pending', wait: 'now', spends: true },
  'too-long': FAILED,
  'too-large': FAILED,
  unauthorized: { state: 'pending', wait: 'backoff' },
  conflict: { state: 'pending', wait: 'backoff' },
  refused: RETRY,
  stopped: { state: 'pending', wait: 'now' },
}

const UNKNOWN: Record<Call, (capabilities: Capabilities) => Consequence & { isLost?: true }> = {
  // It carries nothing, so another one may follow.
  place: () => ({ state: 'pending', wait: 'backoff', spends: true, isLost: true }),
  // The same content again changes nothing.
  edit: () => ({ state: 'pending', wait: 'backoff' }),
  // Where it can be found or recognized it may be repeated, however long the platform is down.
  send: ({ sends }) => (sends === 'blind' ? { state: 'unknown' } : { state: 'pending', wait: 'backoff' }),
}

export const MAX_ATTEMPTS = 8
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

type FailedCall = { call: Call; failure: CallFailure; now: number }

/** The row after a call failed. */
export function afterFailure(
  row: OutboundRow,
  { call, failure, now }: FailedCall,
  capabilities: Capabilities,
): SendProgress {
  const consequence = failure.kind === 'unknown' ? UNKNOWN[call](capabilities) : AFTER[failure.kind]
  const { wait, spends = false, forgets } = consequence
  const attempts = row.attempts + (spends ? 1 : 0)
  const isSpent = attempts >= MAX_ATTEMPTS || (forgets === 'format' && row.isPlain)
  const lost = row.lost + ('isLost' in consequence ? 1 : 0)
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(row.failures, 6))
  const waitMs = wait === 'asked' ? (failure.retryAfterMs ?? backoff) : wait === 'backoff' ? backoff : 0
  return {
    state: isSpent ? 'failed' : consequence.state,
    attempts,
    failures: row.failures + 1,
    lost,
    isPlain: row.isPlain || forgets === 'format',
    dueAt: now + waitMs,
    error: failure.detail,
    ...defined({
      messageId: forgets === 'message' ? undefined : row.messageId,
      thread: forgets === 'thread' ? undefined : row.thread,
    }),
  }
}

/** The row after its call succeeded. A placed message without content is complete until it is revised. */
export function afterSuccess(
  row: OutboundRow,
  { call, messageId, now }: { call: Call; messageId: string; now: number },
): SendProgress {
  const isComplete = call !== 'place' || row.body.text === ''
  return {
    state: isComplete ? 'sent' : 'pending',
    messageId,
    attempts: row.attempts,
    failures: 0,
    lost: row.lost,
    isPlain: row.isPlain,
    dueAt: now,
    ...defined({ thread: row.thread }),
  }
}

/**
 * A row that is `sending` while no process sends it: the process died between the commit and the answer. Its call may
 * have been made, so it counts as one whose answer was lost.
 */
export const afterDeath = (row: OutboundRow, now: number, capabilities: Capabilities): SendProgress =>
  afterFailure(
    row,
    {
      call: nextCall(row, capabilities),
      failure: { kind: 'unknown', detail: 'the server stopped before the platform answered' },
      now,
    },
    capabilities,
  )
