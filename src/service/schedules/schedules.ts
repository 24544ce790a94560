import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { DEFAULT_REST_MS, DEFAULT_SILENCE, DEFAULT_TURNS_PER_DAY, type Heartbeat } from '../../core/heartbeat.ts'
import type { ConversationId, RunId, ScheduleId } from '../../core/id.ts'
import { principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import {
  DEFAULT_GRACE_MS,
  faultInSchedule,
  firstInstant,
  type Schedule,
  type SettledInstant,
} from '../../core/schedule.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { requireContents } from '../messages/send-message.ts'
import { effectiveLimits } from '../people/limits.ts'
import type { ServiceContext } from '../service-context.ts'
import { fireNow } from './settle-schedules.ts'

export type NewSchedule = Pick<Schedule, 'timing' | 'inputs'> &
  Partial<
    Pick<
      Schedule,
      'name' | 'endsAt' | 'quietHours' | 'graceMs' | 'coalesce' | 'model' | 'maxSteps' | 'onGuarded' | 'callback'
    >
  > & {
    agent: Agent
    /** Absent: the default conversation, whichever it is then. */
    conversationId?: ConversationId
    heartbeat?: Partial<Heartbeat>
  }

const MAX_NAME = 200

/** When this resolves, the schedule is stored with its first instant. */
export async function createSchedule(request: NewSchedule, context: ServiceContext): Promise<Schedule> {
  const { deps, caller, organizationId } = context
  const { agent, heartbeat: asked, name = '', graceMs = DEFAULT_GRACE_MS, coalesce = true, ...others } = request
  const { onGuarded = 'deny', ...rest } = others
  const heartbeat = asked && withHeartbeatDefaults(asked, context)
  requireContents(request.inputs)
  if (request.heartbeat && !coalesce)
    throw new Problem('invalid', 'A heartbeat fires one instant at a time: leave out `coalesce`, or let it be true.')
  const now = deps.clock.now()
  const timed = { ...rest, graceMs, ...defined({ heartbeat }) }
  const fault = faultInSchedule(timed, now)
  if (fault) throw new Problem('invalid-argument', fault)
  const schedule: Schedule = {
    ...timed,
    id: `schedule-${deps.randomness.uuid()}`,
    organizationId,
    agentId: agent.id,
    name: name.slice(0, MAX_NAME),
    coalesce,
    onGuarded,
    createdBy: principalOf(caller),
    createdAt: now,
    isPaused: false,
    ...defined({ nextAt: firstInstant(timed, now) }),
  }
  const limit = (await effectiveLimits(organizationId, context)).schedulesPerOrganization
  switch (await deps.store.schedules.create(schedule, limit)) {
    case 'created':
      return schedule
    case 'no-agent':
      throw new Problem('not-found', `Agent not found: ${agent.id}`)
    case 'over-limit':
      throw new Problem(
        'queue-full',
        `This organization has ${limit} schedules, which is its limit (limits.schedules_per_organization). Delete some, or ask an operator to raise it.`,
      )
  }
}

function withHeartbeatDefaults(given: Partial<Heartbeat>, { defaults }: ServiceContext): Heartbeat {
  return {
    silence: DEFAULT_SILENCE,
    restMs: DEFAULT_REST_MS,
    turnsPerDay: defaults.heartbeatTurnsPerDay ?? DEFAULT_TURNS_PER_DAY,
    timezone: 'UTC',
    ...given,
  }
}

export async function requireSchedule(id: ScheduleId, { deps, organizationId }: ServiceContext): Promise<Schedule> {
  const found = await deps.store.schedules.get(organizationId, id)
  if (found) return found
  throw noSchedule(id)
}

const noSchedule = (id: ScheduleId) => new Problem('not-found', `There is no schedule "${id}".`)

export async function listSchedules(
  filter: { agentId?: Agent['id'] },
  page: ListPage,
  { deps, organizationId }: ServiceContext,
): Promise<Schedule[]> {
  const found = await deps.store.schedules.list(organizationId, filter, page)
  if (found) return found
  throw new Problem(
    'not-found',
    `Unknown cursor "${page.after ?? page.before}". Use the id of a schedule in this list.`,
  )
}

/** A paused schedule keeps its place: the instants of the pause are skipped when it continues, and its history says so. */
export async function pauseSchedule(
  id: ScheduleId,
  { isPaused }: { isPaused: boolean },
  { deps, organizationId }: ServiceContext,
): Promise<Schedule> {
  const changed = await deps.store.schedules.pause(organizationId, id, { isPaused, at: deps.clock.now() })
  if (changed) return changed
  throw noSchedule(id)
}

/** Its runs stay, those that are queued too. */
export async function deleteSchedule(id: ScheduleId, { deps, organizationId }: ServiceContext): Promise<void> {
  if (!(await deps.store.schedules.delete(organizationId, id))) throw noSchedule(id)
}

export async function scheduleHistory(
  id: ScheduleId,
  page: { limit: number; before?: number },
  context: ServiceContext,
): Promise<SettledInstant[]> {
  await requireSchedule(id, context)
  return context.deps.store.schedules.history(context.organizationId, id, page)
}

/** Fires it once, outside its timing, also while it is paused. Each call is a run, but those with the same key are one. */
export async function runScheduleNow(
  id: ScheduleId,
  request: { key?: string },
  context: ServiceContext,
): Promise<{ runId: RunId }> {
  const settled = await fireNow(await requireSchedule(id, context), request, context)
  if (!settled) throw noSchedule(id)
  const { runId, reason = '' } = settled
  if (runId) return { runId }
  throw new Problem('conflict', `The schedule was not run: ${reason}`)
}

/** How late the oldest instant is that is due and not settled, of all organizations. */
export async function scheduleLateness({ deps }: ServiceContext): Promise<number> {
  const due = await deps.store.schedules.nextDue()
  return due === undefined ? 0 : Math.max(0, deps.clock.now() - due)
}
