import { nextCronInstant, parseCron } from './cron.ts'
import { defined } from './defined.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './duration.ts'
import { faultInHeartbeat, type Heartbeat } from './heartbeat.ts'
import type { AgentId, ConversationId, OrganizationId, RunId, ScheduleId } from './id.ts'
import type { Input } from './message.ts'
import type { Principal } from './people.ts'
import type { RunSettings } from './run.ts'
import type { TargetHandle } from './target.ts'
import { isTimeZone, noTimeZone, wallClock } from './zoned-time.ts'

/** When a schedule fires. Its instants follow from this alone, never from the time at which one was carried out. */
export type ScheduleTiming =
  | { type: 'once'; at: number }
  /** The instants are `from`, and every multiple of `everyMs` after it: real time, without time zones. */
  | { type: 'interval'; everyMs: number; from: number }
  | { type: 'cron'; expression: string; timezone: string }

/** Local times as HH:MM; an end before the beginning is on the next day. */
type QuietHours = { from: string; to: string; timezone: string }

export type Schedule = {
  id: ScheduleId
  organizationId: OrganizationId
  agentId: AgentId
  name: string
  /** Absent: the default conversation of the agent. */
  conversationId?: ConversationId
  timing: ScheduleTiming
  /** No instant is later than this. */
  endsAt?: number
  quietHours?: QuietHours
  /** Present: it asks whether something is to be done, and `coalesce` is true. */
  heartbeat?: Heartbeat
  /** How late an instant may still fire; later it is missed. */
  graceMs: number
  /** Of several instants that are due at once only the last fires, and none while the run of an earlier one goes on. */
  coalesce: boolean
  inputs: Omit<Input, 'messageId'>[]
  /** Absent: the model of the conversation, else of the agent, at the time of each run. */
  model?: TargetHandle
  maxSteps?: number
  onGuarded: RunSettings['onGuarded']
  callback?: { url: string; trust: 'public' | 'configured' }
  createdBy: Principal
  /** The run in which its agent made it; absent: a person or a program did. */
  byRun?: RunId
  createdAt: number
  /** The next instant; absent: there is none, the schedule has ended. */
  nextAt?: number
  isPaused: boolean
  /** The last pause whose instants are not all settled: from, and to its end. */
  pause?: { from: number; until?: number }
  /** The last run it fired. */
  lastRun?: RunId
}

export const INSTANT_OUTCOMES = ['fired', 'missed', 'skipped', 'refused'] as const

type InstantOutcome = (typeof INSTANT_OUTCOMES)[number]

/** What became of an instant, or of `count` consecutive ones with the same outcome, `instant` to `lastInstant`. */
export type SettledInstant = {
  instant: number
  lastInstant: number
  count: number
  outcome: InstantOutcome
  /** Why it did not fire. */
  reason?: string
  runId?: RunId
  settledAt: number
  /** Asked for by a person, outside the timing. */
  isManual: boolean
}

export type ScheduleState = 'active' | 'paused' | 'ended'

export const stateOf = ({ isPaused, nextAt }: Pick<Schedule, 'isPaused' | 'nextAt'>): ScheduleState =>
  nextAt === undefined ? 'ended' : isPaused ? 'paused' : 'active'

export const DEFAULT_GRACE_MS = HOUR_MS
const MIN_GRACE_MS = MINUTE_MS
const MAX_GRACE_MS = 7 * DAY_MS
const MIN_INTERVAL_MS = MINUTE_MS
const MAX_INTERVAL_MS = 366 * DAY_MS
/** The last moment that a Date can show, in the year 275760, is no plan. */
const LATEST_INSTANT = Date.UTC(2200, 0, 1)

/** The first instant after `after` up to the end of the schedule. */
export function nextInstant(
  { timing, endsAt }: Pick<Schedule, 'timing' | 'endsAt'>,
  after: number,
): number | undefined {
  const next = nextOf(timing, after)
  return next === undefined || next > Math.min(endsAt ?? LATEST_INSTANT, LATEST_INSTANT) ? undefined : next
}

function nextOf(timing: ScheduleTiming, after: number): number | undefined {
  switch (timing.type) {
    case 'once':
      return timing.at > after ? timing.at : undefined
    case 'interval': {
      const { from, everyMs } = timing
      return after < from ? from : from + (Math.floor((after - from) / everyMs) + 1) * everyMs
    }
    case 'cron': {
      const cron = parseCron(timing.expression)
      return 'fault' in cron ? undefined : nextCronInstant(cron, timing.timezone, after)
    }
  }
}

/** Instants to come, in order; in quiet hours they will be skipped. */
export function upcomingInstants(
  schedule: Pick<Schedule, 'timing' | 'endsAt' | 'quietHours' | 'nextAt'>,
  limit: number,
): { instant: number; isQuiet: boolean }[] {
  const upcoming: { instant: number; isQuiet: boolean }[] = []
  for (let next = schedule.nextAt; next !== undefined && upcoming.length < limit; next = nextInstant(schedule, next))
    upcoming.push({ instant: next, isQuiet: schedule.quietHours !== undefined && isQuiet(schedule.quietHours, next) })
  return upcoming
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/

/** Why a schedule cannot be accepted. */
export function faultInSchedule(
  {
    timing,
    endsAt,
    quietHours,
    heartbeat,
    graceMs,
  }: Pick<Schedule, 'timing' | 'endsAt' | 'quietHours' | 'heartbeat' | 'graceMs'>,
  now: number,
): string | undefined {
  if (!(graceMs >= MIN_GRACE_MS && graceMs <= MAX_GRACE_MS))
    return `The grace must be from ${MIN_GRACE_MS / 1_000} to ${MAX_GRACE_MS / 1_000} seconds.`
  return (
    faultInTiming(timing) ??
    (quietHours && faultInQuietHours(quietHours)) ??
    (heartbeat && faultInHeartbeat(heartbeat)) ??
    (endsAt !== undefined && endsAt <= now ? `The end ${timeText(endsAt)} has passed.` : undefined) ??
    faultInFirst({ timing, graceMs, ...defined({ endsAt }) }, now)
  )
}

function faultInTiming(timing: ScheduleTiming): string | undefined {
  switch (timing.type) {
    case 'once':
      return timing.at < LATEST_INSTANT ? undefined : 'The time is after the year 2199.'
    case 'interval':
      return Number.isInteger(timing.everyMs) && timing.everyMs >= MIN_INTERVAL_MS && timing.everyMs <= MAX_INTERVAL_MS
        ? undefined
        : `The interval must be from ${MIN_INTERVAL_MS / 1_000} seconds to ${MAX_INTERVAL_MS / 1_000} seconds (366 days).`
    case 'cron': {
      const cron = parseCron(timing.expression)
      if ('fault' in cron) return cron.fault
      return isTimeZone(timing.timezone) ? undefined : noTimeZone(timing.timezone)
    }
  }
}

function faultInQuietHours({ from, to, timezone }: QuietHours): string | undefined {
  for (const time of [from, to])
    if (!TIME_OF_DAY.test(time))
      return `Quiet hours: "${time.slice(0, 20)}" is not a time of day. Write it as HH:MM, from 00:00 to 23:59.`
  if (from === to) return 'Quiet hours must end at another time than they begin.'
  return isTimeZone(timezone) ? undefined : noTimeZone(timezone)
}

function faultInFirst(schedule: Pick<Schedule, 'timing' | 'endsAt' | 'graceMs'>, now: number): string | undefined {
  const { timing, graceMs } = schedule
  if (nextInstant(schedule, timing.type === 'once' ? now - graceMs - 1 : now) !== undefined) return undefined
  if (timing.type === 'once' && timing.at < now - graceMs)
    return `The time ${timeText(timing.at)} has passed by more than the grace.`
  if (timing.type === 'cron' && nextOf(timing, now) === undefined)
    return `"${timing.expression.slice(0, 80)}" never fires: there is no such day.`
  return 'It ends before its first instant.'
}

/** The first instant of a new schedule. One in the past may fire within its grace. */
export const firstInstant = (schedule: Pick<Schedule, 'timing' | 'endsAt'>, now: number): number | undefined =>
  nextInstant(schedule, schedule.timing.type === 'once' ? 0 : now)

/** Most instants settled at once; a long absence takes several passes. */
const MAX_SETTLED = 2_000
/** Most runs opened in one transaction, without coalescing. */
const MAX_FIRED = 50

/** What one pass settles: the instants that fire, the outcomes of the others, and the instant after them. */
type SettlementPlan = { fire: number[]; others: Omit<SettledInstant, 'settledAt'>[]; nextAt?: number }

type Verdict = { instant: number; outcome: InstantOutcome; reason?: string }

/** Decides about every instant up to `now`. The next instant follows from the last one, so that none is left out. */
export function planSettlement(
  schedule: Schedule,
  { now, activeRun }: { now: number; activeRun: RunId | undefined },
): SettlementPlan {
  const due: number[] = []
  let next = schedule.nextAt
  while (next !== undefined && next <= now && due.length < MAX_SETTLED) {
    due.push(next)
    next = nextInstant(schedule, next)
  }
  const hasMore = next !== undefined && next <= now
  const verdicts = due.map((instant) => judge(schedule, instant, now))
  const live = verdicts.filter(({ outcome }) => outcome === 'fired')
  if (schedule.coalesce) {
    for (const verdict of hasMore ? live : live.slice(0, -1)) skip(verdict, 'Another instant was due after it.')
    const last = hasMore ? undefined : live.at(-1)
    if (last && activeRun) skip(last, `The run ${activeRun} of an earlier instant has not ended.`)
  } else if (live.length > MAX_FIRED) {
    next = live[MAX_FIRED]!.instant
  }
  const settled = verdicts.filter(({ instant }) => next === undefined || instant < next)
  const fire = settled.flatMap(({ instant, outcome }) => (outcome === 'fired' ? [instant] : []))
  const plan = { fire, others: inRanges(settled) }
  return next === undefined ? plan : { ...plan, nextAt: next }
}

function judge({ pause, graceMs, quietHours }: Schedule, instant: number, now: number): Verdict {
  if (pause && instant >= pause.from && instant < (pause.until ?? now))
    return { instant, outcome: 'skipped', reason: 'The schedule was paused.' }
  if (now - instant > graceMs)
    return { instant, outcome: 'missed', reason: `No server settled it within its grace of ${graceMs / 1_000} s.` }
  if (quietHours && isQuiet(quietHours, instant))
    return {
      instant,
      outcome: 'skipped',
      reason: `Quiet hours: ${quietHours.from} to ${quietHours.to} (${quietHours.timezone}).`,
    }
  return { instant, outcome: 'fired' }
}

function skip(verdict: Verdict, reason: string): void {
  verdict.outcome = 'skipped'
  verdict.reason = reason
}

/** Consecutive instants with one outcome and reason share a row: a long absence is no million rows. */
function inRanges(verdicts: readonly Verdict[]): SettlementPlan['others'] {
  const ranges: SettlementPlan['others'] = []
  let isOpen = false
  for (const { instant, outcome, reason = '' } of verdicts) {
    const last = ranges.at(-1)
    if (outcome === 'fired') isOpen = false
    else if (isOpen && last?.outcome === outcome && last.reason === reason) {
      last.lastInstant = instant
      last.count += 1
    } else {
      ranges.push({ instant, lastInstant: instant, count: 1, outcome, reason, isManual: false })
      isOpen = true
    }
  }
  return ranges
}

function isQuiet({ from, to, timezone }: QuietHours, instant: number): boolean {
  const wall = wallClock(instant, timezone)
  const time = new Date(wall).toISOString().slice(11, 16)
  return from < to ? time >= from && time < to : time >= from || time < to
}

/** The timing in one line, for people. */
export function timingText(timing: ScheduleTiming): string {
  switch (timing.type) {
    case 'once':
      return `once at ${timeText(timing.at)}`
    case 'interval':
      return `every ${intervalText(timing.everyMs)}`
    case 'cron':
      return `${timing.expression} (${timing.timezone})`
  }
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
]

function intervalText(ms: number): string {
  for (const [unit, size] of UNITS) if (ms % size === 0) return `${ms / size} ${unit}`
  return `${ms / 1_000} s`
}

const timeText = (at: number): string =>
  Number.isFinite(at) && Math.abs(at) < 8.64e15 ? new Date(at).toISOString() : String(at)
