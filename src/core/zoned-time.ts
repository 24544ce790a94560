import { DAY_MS } from './duration.ts'

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

export const noTimeZone = (name: string): string =>
  `"${name.slice(0, 80)}" is not a time zone. Write its name, such as Europe/Berlin.`

/**
 * The moments at which clocks of the zone show this wall-clock time, in order: one, or two if clocks are set back over
 * it. A time that is skipped, because clocks are set forward, has one that is as long after the change as it would have
 * been (02:30 becomes 03:30).
 */
export function momentsOf(wall: number, timezone: string): [number, ...number[]] {
  // Offsets change at most once within two days.
  const before = wall - offsetAt(wall - DAY_MS, timezone)
  const after = wall - offsetAt(wall + DAY_MS, timezone)
  if (before === after) return [before]
  const isShown = (moment: number): boolean => wallClock(moment, timezone) === wall
  if (!isShown(before)) return [isShown(after) ? after : before]
  return isShown(after) ? [Math.min(before, after), Math.max(before, after)] : [before]
}

/** The first of these moments. */
export const momentOf = (wall: number, timezone: string): number => momentsOf(wall, timezone)[0]

export const offsetAt = (moment: number, timezone: string): number => wallClock(moment, timezone) - moment

const formats = new Map<string, Intl.DateTimeFormat>()

/** What clocks of the zone show, as if it were UTC, to the second. */
export function wallClock(moment: number, timezone: string): number {
  if (timezone === 'UTC') return moment
  let format = formats.get(timezone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(timezone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((moment % 1000) + 1000) % 1000)
}
