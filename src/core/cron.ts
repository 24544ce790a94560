import { DAY_MS, HOUR_MS, MINUTE_MS } from './duration.ts'
import { momentsOf, offsetAt, wallClock } from './zoned-time.ts'

/** A parsed expression: the values that each field matches. */
export type Cron = {
  minutes: readonly number[]
  hours: readonly number[]
  days: ReadonlySet<number>
  months: ReadonlySet<number>
  weekdays: ReadonlySet<number>
  /** If both fields are restricted, one of them must match, as in every cron since Vixie's. */
  matchesEitherDay: boolean
  /** It names no hours: it runs through both passes of an hour that clocks show twice. */
  isEveryHour: boolean
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

type Field = { name: string; from: number; to: number; names?: readonly string[] }

const FIELDS: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: MONTHS },
  // 0 and 7 are Sunday.
  { name: 'day of the week', from: 0, to: 7, names: WEEKDAYS },
]

const ALIASES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/** February 29 may be eight years away. */
const HORIZON_DAYS = 8 * 366 + 1
/** An expression of more characters is a mistake. */
const LONGEST = 500

/** The expression, or why it cannot be accepted. */
export function parseCron(text: string): Cron | { fault: string } {
  const shown = text.slice(0, 80)
  const trimmed = text.trim().toLowerCase()
  const fields = (ALIASES[trimmed] ?? trimmed).split(/\s+/)
  if (text.length > LONGEST || fields.length !== FIELDS.length)
    return {
      fault: `"${shown}" is not a cron expression: it needs five fields (minute, hour, day of the month, month, day of the week), or is one of ${Object.keys(ALIASES).join(', ')}.`,
    }
  const parsed: number[][] = []
  for (const [index, field] of FIELDS.entries()) {
    const values = valuesOf(fields[index]!, field)
    if (!values)
      return {
        fault: `"${shown}" is not a cron expression: "${fields[index]!.slice(0, 40)}" is no ${field.name} from ${field.from} to ${field.to}. Use *, numbers, ranges (1-5), lists (1,3) and steps (*/15).`,
      }
    parsed.push(values)
  }
  const [minutes, hours, days, months, weekdays] = parsed as [number[], number[], number[], number[], number[]]
  const isAny = (index: number): boolean => fields[index]!.startsWith('*')
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((day) => day % 7)),
    matchesEitherDay: !isAny(2) && !isAny(4),
    isEveryHour: hours.length === 24,
  }
}

/** Sorted, without repetitions. */
function valuesOf(text: string, field: Field): number[] | undefined {
  const values = new Set<number>()
  for (const part of text.split(',')) {
    const [range = '', stepText, ...more] = part.split('/')
    const step = stepText === undefined ? 1 : /^\d{1,3}$/.test(stepText) ? Number(stepText) : 0
    const bounds = boundsOf(range, stepText !== undefined, field)
    if (step < 1 || more.length > 0 || !bounds) return undefined
    for (let value = bounds.from; value <= bounds.to; value += step) values.add(value)
  }
  return [...values].sort((a, b) => a - b)
}

function boundsOf(range: string, hasStep: boolean, field: Field): { from: number; to: number } | undefined {
  if (range === '*') return field
  const ends = range.split('-').map((end) => numberIn(end, field))
  const [from, to = hasStep ? field.to : from] = ends
  if (ends.length > 2 || from === undefined || to === undefined || ends.includes(undefined) || from > to)
    return undefined
  return { from, to }
}

function numberIn(text: string, { from, to, names }: Field): number | undefined {
  const named = names?.indexOf(text) ?? -1
  if (named >= 0) return named + from
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1
  return value >= from && value <= to ? value : undefined
}

/**
 * The first instant after `after`; undefined if there is none within eight years, so that there never is one.
 *
 * Each matching wall-clock time has one instant: of an hour that clocks show twice its first pass, and a time that clocks
 * skip is moved to as long after the change (02:30 becomes 03:30). Times that meet there are one instant. An expression
 * that matches every hour follows the passing of time instead: it also has the instants of the second pass.
 */
export function nextCronInstant(cron: Cron, timezone: string, after: number): number | undefined {
  // A change of clocks within a day makes earlier wall-clock times possible: what was skipped, or comes again.
  const offsets = [after - DAY_MS, after, after + DAY_MS].map((moment) => offsetAt(moment, timezone))
  const spread = Math.max(...offsets) - Math.min(...offsets)
  let best: number | undefined
  let horizon = Number.POSITIVE_INFINITY
  for (const wall of wallTimes(cron, wallClock(after, timezone) - spread)) {
    if (wall > horizon) break
    const moments = momentsOf(wall, timezone)
    const isPlain = moments.length === 1 && wallClock(moments[0], timezone) === wall
    for (const moment of cron.isEveryHour ? moments : moments.slice(0, 1))
      if (moment > after && (best === undefined || moment < best)) best = moment
    // A later time may have an earlier instant, if this one was moved or if its second pass counts.
    if (best !== undefined && horizon === Number.POSITIVE_INFINITY) horizon = wall + 2 * HOUR_MS + spread
    if (isPlain && moments[0] > after) break
  }
  return best
}

/** Matching wall-clock times from `from` on, as if they were UTC. */
function* wallTimes(cron: Cron, from: number): Generator<number> {
  const firstDay = Math.floor(from / DAY_MS) * DAY_MS
  for (let day = 0; day <= HORIZON_DAYS; day++) {
    const midnight = firstDay + day * DAY_MS
    if (!matchesDay(cron, new Date(midnight))) continue
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const wall = midnight + (hour * 60 + minute) * MINUTE_MS
        if (wall >= from) yield wall
      }
    }
  }
}

function matchesDay({ days, months, weekdays, matchesEitherDay }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const isDay = days.has(date.getUTCDate())
  const isWeekday = weekdays.has(date.getUTCDay())
  return matchesEitherDay ? isDay || isWeekday : isDay && isWeekday
}
