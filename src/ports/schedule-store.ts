import type { HeartbeatSpending } from '../core/heartbeat.ts'
import type { AgentId, OrganizationId, RunId, ScheduleId } from '../core/id.ts'
import type { Schedule, SettledInstant } from '../core/schedule.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { ModelUsage } from './model-usage.ts'
import type { OpenedRun, OpenRun } from './run-intake.ts'

/** `limit`: schedules that the organization may have; 0 means no limit. */
export type CreatedSchedule = 'created' | 'over-limit' | 'no-agent'

/** A run for one instant. The schedule and the run move in one transaction, or neither does. */
export type Firing = { instant: number; open: OpenRun }

/** What becomes of the instants of a schedule up to `nextAt`. */
export type Settlement = {
  schedule: Pick<Schedule, 'id' | 'organizationId'>
  /** Nothing is written unless this is still the next instant. `manual`: outside the timing, which stays as it is. */
  seen: number | 'manual'
  nextAt?: number
  others: Omit<SettledInstant, 'settledAt'>[]
  firings: Firing[]
  /** Of a heartbeat, by its timing: what its runs of this day have cost. */
  spending?: HeartbeatSpending
  at: number
  /** The reason for an instant whose run was not opened. */
  refusalOf(opened: OpenedRun): string
}

/** `moved`: another process settled these instants, or the schedule was paused or deleted. */
export type Settled =
  | { type: 'settled'; instants: SettledInstant[] }
  /** By hand: a request with this key has fired it before. */
  | { type: 'repeated'; runId: RunId }
  | { type: 'moved' }

export type ScheduleStore = {
  create(schedule: Schedule, limit: number): Promise<CreatedSchedule>
  get(organizationId: OrganizationId, id: ScheduleId): Promise<Schedule | undefined>
  list(organizationId: OrganizationId, filter: { agentId?: AgentId }, page: ListPage): ListResult<Schedule>
  count(organizationId: OrganizationId): Promise<number>
  /** Stops or continues it. Undefined: there is no such schedule. */
  pause(
    organizationId: OrganizationId,
    id: ScheduleId,
    change: { isPaused: boolean; at: number },
  ): Promise<Schedule | undefined>
  /** Deletes its history too; its runs stay. */
  delete(organizationId: OrganizationId, id: ScheduleId): Promise<boolean>
  /** Deletes what became of old instants. Returns how many. */
  prune(before: number, limit: number): Promise<number>
  /** The earliest instant of all organizations that is not settled. */
  nextDue(): Promise<number | undefined>
  /** Schedules of all organizations with an instant up to `now`, in order of their numbers. */
  due(now: number, page: { after: number; limit: number }): Promise<{ number: number; schedule: Schedule }[]>
  settle(settlement: Settlement): Promise<Settled>
  /** The tokens of the runs that it fired for the instants of a time. */
  usedBetween(id: ScheduleId, time: { from: number; to: number }): Promise<ModelUsage[]>
  /** The newest first; `before` is an instant. */
  history(
    organizationId: OrganizationId,
    id: ScheduleId,
    page: { limit: number; before?: number },
  ): Promise<SettledInstant[]>
}
