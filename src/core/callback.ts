import { defined } from './defined.ts'
/** What a run says of the callback that was asked for with it. */
export type RunCallback = {
  url: string
  /** When it was last answered. */
  sentAt?: number
  statusCode?: number
  error?: string
}

/** What one try came to. `refused`: the address is not allowed, which another try would not change. */
export type CallbackTry =
  | { type: 'answered'; statusCode: number }
  | { type: 'failed'; detail: string }
  | { type: 'refused'; detail: string }

/** What is kept of it. Without `dueAt` it is not tried again. */
export type CallbackOutcome = { sentAt?: number; statusCode?: number; error?: string; dueAt?: number }

const SECOND = 1000
const MINUTE = 60 * SECOND

/** After each failure; together four hours, which most outages do not last. */
const BACKOFF_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE]

export const MAX_TRIES = BACKOFF_MS.length + 1

/** `tries` counts this one. */
export function callbackOutcome(tried: CallbackTry, { tries, now }: { tries: number; now: number }): CallbackOutcome {
  const answer = tried.type === 'answered' ? { sentAt: now, statusCode: tried.statusCode } : {}
  if (tried.type === 'answered' && tried.statusCode >= 200 && tried.statusCode < 300) return answer
  const detail = tried.type === 'answered' ? `it was answered with ${tried.statusCode}` : tried.detail
  const wait = tried.type === 'refused' ? undefined : BACKOFF_MS[tries - 1]
  const rest = wait === undefined ? 'It is not tried again.' : `It is tried again in ${wait / SECOND} s.`
  const error = `Try ${tries} of ${MAX_TRIES}: ${detail}. ${rest}`
  return { ...answer, error, ...defined({ dueAt: wait === undefined ? undefined : now + wait }) }
}

/** A process that died between each try and its outcome leaves one that was tried often enough. */
export const TRIES_EXHAUSTED: CallbackOutcome = {
  error: `What came of the last of ${MAX_TRIES} tries is not known. It is not tried again.`,
}
