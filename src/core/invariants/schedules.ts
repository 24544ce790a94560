import type { RunId } from '../id.ts'
import { nextInstant, type Schedule, type SettledInstant } from '../schedule.ts'
import type { Invariant } from './record.ts'

/** An instant of a heartbeat that fired. `talkedAt`: when the turn of a person ended that came just before its run. */
export type HeartbeatRecord = { instant: number; settledAt: number; talkedAt?: number }

/** A page of what became of the instants of a schedule, oldest first. */
export type ScheduleRecord = {
  schedule: Schedule
  instants: readonly SettledInstant[]
  /** The one before this page; absent on the first page. */
  before?: SettledInstant
  /** Of the runs that the page names, those that exist. */
  runs: ReadonlySet<RunId>
  /** Of a heartbeat: those of the page that fired, in order. */
  beats?: readonly HeartbeatRecord[]
  /** What fired before the page on the day of the first of them. */
  firedThatDay?: number
}

export const instantsSettledOnce: Invariant<ScheduleRecord> = {
  id: 'I38',
  name: 'instants-settled-once',
  sentence: 'Each instant of a schedule is settled once, in order, and none is left out.',
  promise: 'nothing happens twice',
  check({ schedule, instants, before }) {
    const faults: string[] = []
    let last = before?.lastInstant
    for (const { instant, lastInstant } of instants) {
      if (last !== undefined && instant <= last) faults.push(`${text(instant)} was settled twice`)
      else if (last !== undefined && isLeftOut(schedule, last, instant))
        faults.push(`an instant between ${text(last)} and ${text(instant)} was left out`)
      last = lastInstant
    }
    const { nextAt } = schedule
    if (last !== undefined && nextAt !== undefined && nextAt <= last)
      faults.push(`${text(nextAt)} is the next instant although ${text(last)} is settled`)
    return faults
  },
}

/** Rules of time zones change, and what was right then may not be now: only timings without one are recomputed. */
function isLeftOut(schedule: Schedule, last: number, instant: number): boolean {
  const { timing } = schedule
  if (timing.type === 'cron' && timing.timezone !== 'UTC') return false
  const next = nextInstant(schedule, last)
  return next !== undefined && next < instant
}

export const outcomesAreExplained: Invariant<ScheduleRecord> = {
  id: 'I39',
  name: 'outcomes-are-explained',
  sentence: 'An instant that fired has its run; every other one has its reason and no run.',
  promise: 'nothing is hidden',
  check: ({ instants, runs }) =>
    instants.flatMap(({ instant, outcome, runId, reason }) => {
      if (outcome !== 'fired')
        return [
          ...(runId ? [`${text(instant)} was ${outcome} and has the run ${runId}`] : []),
          ...(reason ? [] : [`${text(instant)} was ${outcome} without a reason`]),
        ]
      if (!runId) return [`${text(instant)} fired without a run`]
      return runs.has(runId) ? [] : [`${text(instant)} fired ${runId}, which does not exist`]
    }),
}

const text = (at: number): string => new Date(at).toISOString()
