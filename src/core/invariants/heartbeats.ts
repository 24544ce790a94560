import { dayStart } from '../heartbeat.ts'
import type { Invariant } from './record.ts'
import type { ScheduleRecord } from './schedules.ts'

export const heartbeatsHoldBack: Invariant<ScheduleRecord> = {
  id: 'I49',
  name: 'heartbeats-hold-back',
  sentence: 'A heartbeat does not fire while a person talks or shortly after, nor more often in a day than its budget.',
  promise: 'nothing is hidden',
  check({ schedule: { heartbeat }, beats = [], firedThatDay = 0 }) {
    if (!heartbeat) return []
    const faults: string[] = []
    let day = Number.NEGATIVE_INFINITY
    let turns = firedThatDay
    for (const { instant, settledAt, talkedAt } of beats) {
      if (talkedAt !== undefined && talkedAt > settledAt - heartbeat.restMs)
        faults.push(`${text(instant)} fired although a person talked at ${text(talkedAt)}`)
      const today = dayStart(instant, heartbeat.timezone)
      turns = today > day && Number.isFinite(day) ? 1 : turns + 1
      day = today
      if (turns > heartbeat.turnsPerDay)
        faults.push(`${text(instant)} is turn ${turns} of its day, and it has ${heartbeat.turnsPerDay}`)
    }
    return faults
  },
}

const text = (at: number): string => new Date(at).toISOString()
