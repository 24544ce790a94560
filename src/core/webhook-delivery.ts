import { defined } from './defined.ts'

/** The callback (webhook) of a run, as stored on the run. */
export type RunCallback = {
  url: string
  /** When the receiver last answered. */
  sentAt?: number
  statusCode?: number
  error?: string
}

/** The result of one delivery attempt. `refused`: the address is not allowed, so a retry would fail too. */
export type DeliveryTry =
  | { type: 'answered'; statusCode: number }
  | { type: 'failed'; detail: string }
  | { type: 'refused'; detail: string }

/** The stored result. Without `error` it is delivered, and without `dueAt` there is no further attempt. */
export type DeliveryOutcome = { sentAt?: number; statusCode?: number; error?: string; dueAt?: number }

const SECOND = 1000
const MINUTE = 60 * SECOND

/** Backoff after each failure; four hours in total, longer than most outages. */
const BACKOFF_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE]

export const MAX_TRIES = BACKOFF_MS.length + 1

/** `tries` includes this attempt. */
export function deliveryOutcome(tried: DeliveryTry, { tries, now }: { tries: number; now: number }): DeliveryOutcome {
  const answer = tried.type === 'answered' ? { sentAt: now, statusCode: tried.statusCode } : {}
  if (tried.type === 'answered' && tried.statusCode >= 200 && tried.statusCode < 300) return answer
  const detail = tried.type === 'answered' ? `the webhook answered with status ${tried.statusCode}` : tried.detail
  const wait = tried.type === 'refused' ? undefined : BACKOFF_MS[tries - 1]
  const rest = wait === undefined ? 'There is no further attempt.' : `The next attempt is in ${wait / SECOND} s.`
  const error = `Attempt ${tries} of ${MAX_TRIES}: ${detail}. ${rest}`
  return { ...answer, error, ...defined({ dueAt: wait === undefined ? undefined : now + wait }) }
}

/** For a delivery whose process died before it stored the result of the last attempt. */
export const TRIES_EXHAUSTED: DeliveryOutcome = {
  error: `The result of the last of ${MAX_TRIES} attempts is unknown. There is no further attempt.`,
}
