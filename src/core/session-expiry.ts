import { DAY_MS, MINUTE_MS } from './duration.ts'
import { isTimeZone, momentOf, wallClock } from './zoned-time.ts'

/** When the session of an idle conversation ends: its processes are ended, and the next message begins a new context. */
export type SessionExpiry = {
  /** After this time without activity. */
  idleMinutes?: number
  /** At this local time, as HH:MM, if there was no activity since. */
  dailyAt?: string
  /** IANA time zone of `dailyAt`. Default: UTC. */
  timezone?: string
}

type ExpiryCause = 'idle' | 'daily'

export const DAILY_AT = /^([01]\d|2[0-3]):[0-5]\d$/

/** One year: longer is the same as never. */
export const MAX_IDLE_MINUTES = 525_600

/** Why a policy cannot be accepted. */
export function faultIn({ idleMinutes, dailyAt, timezone }: SessionExpiry): string | undefined {
  if (
    idleMinutes !== undefined &&
    !(Number.isInteger(idleMinutes) && idleMinutes >= 1 && idleMinutes <= MAX_IDLE_MINUTES)
  )
    return `The minutes without activity must be a whole number from 1 to ${MAX_IDLE_MINUTES}.`
  if (dailyAt !== undefined && !DAILY_AT.test(dailyAt))
    return `"${dailyAt}" is not a time of day. Write it as HH:MM, from 00:00 to 23:59.`
  if (timezone === undefined) return undefined
  if (dailyAt === undefined) return 'A time zone needs a daily time.'
  return isTimeZone(timezone) ? undefined : `"${timezone}" is not a time zone. Write its name, such as Europe/Berlin.`
}

export function sessionExpiryText(expiry: SessionExpiry | undefined): string {
  if (!expiry) return 'never end by themselves'
  const { idleMinutes, dailyAt, timezone = 'UTC' } = expiry
  return [
    ...(idleMinutes === undefined ? [] : [`end after ${idleMinutes} idle minutes`]),
    ...(dailyAt === undefined ? [] : [`end at ${dailyAt} (${timezone})`]),
  ].join(', ')
}

/** Sessions whose last activity is before this moment have ended. Both causes may apply: the later moment counts. */
export function expiredBefore({ idleMinutes, dailyAt, timezone }: SessionExpiry, now: number): number | undefined {
  const idle = idleMinutes === undefined ? undefined : now - idleMinutes * MINUTE_MS
  const daily = dailyAt === undefined ? undefined : lastOccurrence(dailyAt, timezone ?? 'UTC', now)
  if (idle === undefined || daily === undefined) return idle ?? daily
  return Math.max(idle, daily)
}

/** What ended a session with this last activity. */
export function causeOf(
  expiry: SessionExpiry,
  { lastActivity, now }: { lastActivity: number; now: number },
): ExpiryCause {
  const { idleMinutes } = expiry
  return idleMinutes !== undefined && lastActivity <= now - idleMinutes * MINUTE_MS ? 'idle' : 'daily'
}

export function expiryNotice({ idleMinutes, dailyAt, timezone = 'UTC' }: SessionExpiry, cause: ExpiryCause): string {
  const why = cause === 'idle' ? `no message came for ${idleMinutes} minutes` : `it is past ${dailyAt} (${timezone})`
  return `The session ended because ${why}. Its processes were ended. The next message begins a new context; earlier messages stay in this history.`
}

/** The last moment up to `now` at which local clocks showed this time. */
function lastOccurrence(time: string, timezone: string, now: number): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number]
  const today = wallClock(now, timezone)
  const midnight = today - (today % DAY_MS)
  const wanted = midnight + (hours * 60 + minutes) * MINUTE_MS
  // The days around now: with an offset of up to a day and a change of clocks, the last occurrence is among them.
  const moments = [1, 0, -1, -2].map((days) => momentOf(wanted + days * DAY_MS, timezone))
  return moments.find((moment) => moment <= now)!
}
