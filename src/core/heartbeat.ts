import { DAY_MS, HOUR_MS, MINUTE_MS } from './duration.ts'
import type { RunId } from './id.ts'
import { isTimeZone, momentOf, noTimeZone, wallClock } from './zoned-time.ts'

/** Of a schedule that asks its agent whether something is to be done. It never fires while a person talks. */
export type Heartbeat = {
  /** An answer that is this and nothing else is silence: no chat receives it. */
  silence: string
  /** How long after the last turn of a person no instant fires. */
  restMs: number
  /** What it may fire in a day of `timezone`. */
  turnsPerDay: number
  /** What its runs may have cost before another one fires. Absent: no limit. */
  dollarsPerDay?: number
  timezone: string
}

export const DEFAULT_SILENCE = 'HEARTBEAT_OK'
export const DEFAULT_REST_MS = 15 * MINUTE_MS
export const DEFAULT_TURNS_PER_DAY = 48
export const DEFAULT_HEARTBEAT_TEXT = 'This is a heartbeat: look whether something is to be done now, and do it.'
const MAX_SILENCE = 100
const MAX_REST_MS = DAY_MS
const MAX_TURNS_PER_DAY = DAY_MS / MINUTE_MS

/** Why a heartbeat cannot be accepted. */
export function faultInHeartbeat({
  silence,
  restMs,
  turnsPerDay,
  dollarsPerDay,
  timezone,
}: Heartbeat): string | undefined {
  if (!isTimeZone(timezone)) return noTimeZone(timezone)
  if (plain(silence) === '' || silence.length > MAX_SILENCE)
    return `The answer that means silence must have letters or digits, and at most ${MAX_SILENCE} characters.`
  if (!(restMs >= 0 && restMs <= MAX_REST_MS))
    return `The rest after a person must be from 0 to ${MAX_REST_MS / 1_000} seconds (a day).`
  if (!(Number.isInteger(turnsPerDay) && turnsPerDay >= 1 && turnsPerDay <= MAX_TURNS_PER_DAY))
    return `The turns per day must be a whole number from 1 to ${MAX_TURNS_PER_DAY}.`
  if (dollarsPerDay !== undefined && !(dollarsPerDay > 0 && dollarsPerDay <= 1_000_000))
    return 'The dollars per day must be more than 0 and at most 1000000.'
  return undefined
}

/** Follows the message of a heartbeat, so that its agent knows how to say nothing. */
export const silenceInstruction = (silence: string): string =>
  `If nothing is to be said, answer ${silence} and nothing else: no person is told of it.`

/** Models add quotes, emphasis and periods. */
const plain = (text: string): string => text.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').toLowerCase()

/** Whether the answer that ends a turn says nothing. */
export const isSilence = (answer: string, silence: string): boolean =>
  answer.trim() === '' || plain(answer) === plain(silence)

/** When the day of a moment began. */
export function dayStart(moment: number, timezone: string): number {
  const wall = wallClock(moment, timezone)
  const start = momentOf(wall - (((wall % DAY_MS) + DAY_MS) % DAY_MS), timezone)
  // Clocks that are set back over midnight show the beginning of the day twice.
  return start > moment ? start - HOUR_MS : start
}

/** Read in the transaction that would fire the instant. */
type HeartbeatFacts = {
  /** A run that is active or queued in the conversation. */
  active?: RunId
  /** When the last turn of a person ended, or began if it has not run; absent: not within the rest. */
  talkedAt?: number
  /** What it has fired since the day began. */
  turns: number
}

/** What its runs have cost since the day began; `unpriced` is a model whose price is unknown. */
export type HeartbeatSpending = { dollars: number; unpriced?: string }

/** Why an instant does not fire now; undefined: it fires. */
export function whyHeldBack(
  { restMs, turnsPerDay, dollarsPerDay, timezone }: Heartbeat,
  { active, talkedAt, turns }: HeartbeatFacts,
  { dollars, unpriced }: HeartbeatSpending,
): string | undefined {
  if (active) return `The conversation is busy with ${active}.`
  if (talkedAt !== undefined)
    return `A person talked at ${new Date(talkedAt).toISOString()}, within the rest of ${restMs / 1_000} s.`
  if (turns >= turnsPerDay) return `Its ${turnsPerDay} turns of this day (${timezone}) are used.`
  if (dollarsPerDay === undefined) return undefined
  if (unpriced) return `The price of ${unpriced} is unknown, so its $${dollarsPerDay} of a day cannot be counted.`
  return dollars >= dollarsPerDay
    ? `Its runs of this day (${timezone}) cost $${dollars.toFixed(4)} of $${dollarsPerDay}.`
    : undefined
}

/** Runs that no person began, by the `run_type` of their metadata. */
const UNATTENDED: readonly string[] = ['schedule', 'heartbeat', 'hook', 'session_expiry', 'conversation_left']

export const isOfPerson = (metadata: unknown): boolean =>
  !UNATTENDED.includes(String((metadata as { run_type?: unknown } | null)?.run_type))
