import { DEFAULT_TURNS_PER_DAY } from '../core/heartbeat.ts'
import { SCHEDULE_APPROVALS } from '../core/own-schedules.ts'
import { setting } from './setting.ts'
import { oneOf, wholeNumber } from './setting-kinds.ts'

/** `schedules` of config.yaml. */
export const SCHEDULES = {
  heartbeat_turns_per_day: setting(wholeNumber(1, 1_440), {
    description: 'Runs that a heartbeat fires in a day, if it does not say how many',
    default: DEFAULT_TURNS_PER_DAY,
  }),
  per_agent: setting(wholeNumber(0, 1_000), {
    description: 'Schedules that an agent may have made with its own tool and that have not ended; 0 refuses all',
    default: 10,
  }),
  agent_shortest_minutes: setting(wholeNumber(1, 44_640), {
    description: 'The shortest time between two instants of a schedule that an agent makes',
    unit: 'minutes',
    default: 15,
  }),
  agent_horizon_days: setting(wholeNumber(1, 3_660), {
    description: 'How long after it is made a schedule of an agent may still fire',
    unit: 'days',
    default: 366,
  }),
  agent_approval: setting(oneOf(SCHEDULE_APPROVALS), {
    description:
      'Which schedules that an agent makes need approval: `always`, those that repeat (`repeating`), or `never`',
    default: 'repeating',
  }),
}
