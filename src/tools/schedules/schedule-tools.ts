import { defined } from '../../core/defined.ts'
import { MINUTE_MS } from '../../core/duration.ts'
import { DEFAULT_ORGANIZATION, type OrganizationId, parseId } from '../../core/id.ts'
import { faultInOwn, type OwnScheduleLimits } from '../../core/own-schedules.ts'
import {
  DEFAULT_GRACE_MS,
  faultInSchedule,
  firstInstant,
  type Schedule,
  type ScheduleTiming,
  stateOf,
  timingText,
} from '../../core/schedule.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { Store } from '../../ports/store.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { defineTool, failure, success, yieldingToStored } from '../define-tool.ts'

/** These tools read only: their writes are part of the answer and are committed with it. */
type ScheduleToolDeps = {
  store: Pick<Store, 'schedules' | 'runs'>
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
  limits: OwnScheduleLimits
  /** Schedules that an organization may have; 0 means no limit. */
  limitOf(organizationId: OrganizationId): Promise<number>
}

type CreateInput = {
  message: string
  at?: string | null
  every_minutes?: number | null
  cron?: string | null
  timezone?: string | null
  ends_at?: string | null
  name?: string | null
}

const optional = (type: string, description: string) => ({ type: [type, 'null'], description })

/** Tools with which an agent plans its own messages. Their runs are unattended: guarded calls in them are denied. */
export const scheduleTools = (deps: ScheduleToolDeps): Tool[] =>
  [createSchedule(deps), listSchedules(deps), cancelSchedule(deps)].map(yieldingToStored)

const createSchedule = (deps: ScheduleToolDeps): Tool =>
  defineTool<CreateInput>({
    name: 'create_schedule',
    description:
      'Sends you a message in this conversation later: once at a time, at an interval, or by a cron expression. What you answer then goes to the person of this conversation.',
    inputSchema: {
      type: 'object',
      properties: {
        message: {
          type: 'string',
          minLength: 1,
          maxLength: 10_000,
          description: 'What you are told then. It must make sense on its own.',
        },
        at: optional('string', 'Once, at this time: ISO 8601 with an offset, such as 2027-03-01T09:00:00+01:00.'),
        every_minutes: optional('number', 'Again and again, at this interval in minutes.'),
        cron: optional('string', 'Again and again, by five fields: minute, hour, day of the month, month, weekday.'),
        timezone: optional('string', 'Time zone of cron, such as Europe/Berlin. Default: UTC.'),
        ends_at: optional('string', 'Of one that repeats: nothing is sent later than this time.'),
        name: optional('string', 'A short name.'),
      },
      required: ['message'],
      additionalProperties: false,
    },
    effects: 'none',
    approvalReason: (input) => whyAsk(input, deps.limits),
    run: (input, context) => create(input, context, deps),
  })

function whyAsk({ every_minutes, cron }: Pick<CreateInput, 'every_minutes' | 'cron'>, { approval }: OwnScheduleLimits) {
  const repeats = typeof every_minutes === 'number' || typeof cron === 'string'
  if (approval === 'never' || (approval === 'repeating' && !repeats)) return undefined
  return repeats ? 'it makes a schedule that repeats' : 'it makes a schedule'
}

async function create(input: CreateInput, context: ToolContext, deps: ScheduleToolDeps) {
  const { store, clock, randomness, limits } = deps
  const { organizationId = DEFAULT_ORGANIZATION, agentId, conversationId, runId } = context
  const now = clock.now()
  const timing = timingOf(input, now)
  if (typeof timing === 'string') return failure(timing)
  const ends = input.ends_at ? Date.parse(input.ends_at) : undefined
  if (Number.isNaN(ends)) return failure(`ends_at: "${input.ends_at}" is not a time. Write it as ISO 8601.`)
  const endsAt = ends ?? now + limits.horizonMs
  const timed = {
    timing,
    graceMs: DEFAULT_GRACE_MS,
    ...defined({ endsAt: timing.type === 'once' ? undefined : endsAt }),
  }
  const fault = faultInSchedule(timed, now) ?? faultInOwn({ timing, endsAt }, limits, now)
  if (fault) return failure(`The schedule was not made. ${fault}`)
  const own = (await ownSchedules(context, deps)).filter(({ nextAt }) => nextAt !== undefined)
  if (own.length >= limits.count)
    return failure(
      `The schedule was not made: you have ${own.length} schedules of your own, and the limit is ${limits.count}. Cancel one that is no longer needed.`,
    )
  const run = await store.runs.getAnywhere(runId)
  const schedule: Schedule = {
    ...timed,
    id: `schedule-${randomness.uuid()}`,
    organizationId,
    agentId,
    conversationId,
    name: (input.name ?? '').slice(0, 200),
    coalesce: true,
    inputs: [{ role: 'user', content: [{ type: 'text', text: input.message }] }],
    onGuarded: 'deny',
    // Its runs count for the key behind the turn that makes it.
    createdBy: { actor: run?.openedBy ?? 'home' },
    byRun: runId,
    createdAt: now,
    isPaused: false,
    ...defined({ nextAt: firstInstant(timed, now) }),
  }
  const ofOrganization = await deps.limitOf(organizationId)
  return {
    ...success(
      `Made ${schedule.id}: ${timingText(timing)}, first at ${new Date(schedule.nextAt ?? now).toISOString()}.`,
    ),
    writes: [{ type: 'create-schedule' as const, schedule, limits: { own: limits.count, ofOrganization } }],
  }
}

function timingOf({ at, every_minutes, cron, timezone }: CreateInput, now: number): ScheduleTiming | string {
  const named = [at, every_minutes, cron].filter((one) => one !== null && one !== undefined)
  if (named.length !== 1) return 'Name exactly one of at, every_minutes and cron.'
  if (typeof cron === 'string') return { type: 'cron', expression: cron.trim(), timezone: timezone ?? 'UTC' }
  if (typeof every_minutes === 'number') {
    const everyMs = Math.round(every_minutes * MINUTE_MS)
    return { type: 'interval', everyMs, from: now + everyMs }
  }
  const moment = Date.parse(at!)
  return Number.isNaN(moment) ? `at: "${at}" is not a time. Write it as ISO 8601.` : { type: 'once', at: moment }
}

const listSchedules = (deps: ScheduleToolDeps): Tool =>
  defineTool<Record<never, never>>({
    name: 'list_schedules',
    description: 'Lists the schedules that send you messages, and which of them you made yourself.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    effects: 'none',
    parallel: true,
    run: async (_, context) => {
      const found = await allSchedules(context, deps)
      if (found.length === 0) return success('You have no schedules.')
      return success(JSON.stringify(found.map(shown), null, 1))
    },
  })

const shown = (schedule: Schedule) => ({
  id: schedule.id,
  name: schedule.name,
  when: timingText(schedule.timing),
  state: stateOf(schedule),
  next_at: schedule.nextAt === undefined ? null : new Date(schedule.nextAt).toISOString(),
  made_by_you: schedule.byRun !== undefined,
  message: schedule.inputs
    .flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '(an image)')))
    .join('\n')
    .slice(0, 500),
})

const cancelSchedule = (deps: ScheduleToolDeps): Tool =>
  defineTool<{ schedule_id: string }>({
    name: 'cancel_schedule',
    description: 'Deletes a schedule that you made. Messages that it has already sent stay.',
    inputSchema: {
      type: 'object',
      properties: { schedule_id: { type: 'string', description: 'Its id, as list_schedules shows it.' } },
      required: ['schedule_id'],
      additionalProperties: false,
    },
    effects: 'none',
    run: async ({ schedule_id }, { organizationId = DEFAULT_ORGANIZATION, agentId }) => {
      const id = parseId('schedule', schedule_id)
      const found = id && (await deps.store.schedules.get(organizationId, id))
      if (!found || found.agentId !== agentId) return failure(`You have no schedule "${schedule_id}".`)
      if (!found.byRun) return failure(`A person made ${found.id}; only a person can delete it.`)
      return {
        ...success(`Deleted ${found.id}.`),
        writes: [{ type: 'delete-schedule' as const, scheduleId: found.id }],
      }
    },
  })

const PAGE = 1_000

async function allSchedules(
  { organizationId = DEFAULT_ORGANIZATION, agentId }: ToolContext,
  { store }: ScheduleToolDeps,
): Promise<Schedule[]> {
  return (await store.schedules.list(organizationId, { agentId }, { limit: PAGE, order: 'asc' })) ?? []
}

const ownSchedules = async (context: ToolContext, deps: ScheduleToolDeps): Promise<Schedule[]> =>
  (await allSchedules(context, deps)).filter(({ byRun }) => byRun !== undefined)
