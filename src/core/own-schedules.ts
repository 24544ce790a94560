import { DAY_MS, MINUTE_MS } from './duration.ts'
import { nextInstant, type ScheduleTiming } from './schedule.ts'

/** Which schedules that an agent makes wait for approval. */
export const SCHEDULE_APPROVALS = ['always', 'repeating', 'never'] as const

/** What the tools of an agent may do with schedules. */
export type OwnScheduleLimits = {
  /** How many an agent may have. */
  count: number
  shortestMs: number
  horizonMs: number
  approval: (typeof SCHEDULE_APPROVALS)[number]
}

/** Why an agent may not make this schedule; undefined if it may. `endsAt` is its end, or the horizon. */
export function faultInOwn(
  { timing, endsAt }: { timing: ScheduleTiming; endsAt: number },
  { shortestMs, horizonMs }: OwnScheduleLimits,
  now: number,
): string | undefined {
  if (timing.type === 'once')
    return timing.at > now + horizonMs ? `The time is more than ${horizonMs / DAY_MS} days away.` : undefined
  if (endsAt > now + horizonMs) return `The end is more than ${horizonMs / DAY_MS} days away.`
  const gap = shortestGap(timing, now)
  return gap < shortestMs
    ? `It would fire every ${Math.floor(gap / MINUTE_MS)} minutes; the shortest time between two instants is ${shortestMs / MINUTE_MS} minutes.`
    : undefined
}

/** The minutes of a cron expression are the same in each of its hours, so some hours and a midnight show the closest two. */
const LOOKED_AT = 200

function shortestGap(timing: ScheduleTiming, now: number): number {
  if (timing.type === 'interval') return timing.everyMs
  let shortest = Number.POSITIVE_INFINITY
  let last = nextInstant({ timing }, now)
  for (let count = 0; last !== undefined && count < LOOKED_AT; count++) {
    const next = nextInstant({ timing }, last)
    if (next === undefined) break
    shortest = Math.min(shortest, next - last)
    last = next
  }
  return shortest
}
