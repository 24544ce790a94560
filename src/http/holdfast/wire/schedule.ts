import { z } from 'zod'
import { INSTANT_OUTCOMES, type Schedule, type SettledInstant, stateOf } from '../../../core/schedule.ts'
import { wireContent } from '../../letta/wire/input-content.ts'

const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())

export const scheduleSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      agent_id: z.string(),
      conversation_id: z.string().nullable().describe('Null: the default conversation of the agent.'),
      name: z.string(),
      state: z.enum(['active', 'paused', 'ended']),
      timing: z.union([
        z.object({ type: z.literal('once'), at: z.string() }),
        z.object({ type: z.literal('interval'), every_seconds: z.number(), from: z.string() }),
        z.object({ type: z.literal('cron'), expression: z.string(), timezone: z.string() }),
      ]),
      next_at: z.string().nullable().describe('The next instant that is not settled. Null: the schedule has ended.'),
      ends_at: z.string().nullable(),
      quiet_hours: z.object({ from: z.string(), to: z.string(), timezone: z.string() }).nullable(),
      heartbeat: z
        .object({
          silence: z.string().describe('The answer that says nothing: no chat receives it, and the run is `silent`.'),
          rest_seconds: z.number().describe('How long after a turn of a person its instants are skipped.'),
          turns_per_day: z.int(),
          dollars_per_day: z.number().nullable(),
          timezone: z.string().describe('Where its days begin.'),
        })
        .nullable()
        .describe('Of a schedule that asks whether something is to be done; null for any other.'),
      grace_seconds: z.number().describe('How late an instant may still fire.'),
      coalesce: z.boolean().describe('Whether of several instants that are due at once only the last fires.'),
      model: z.string().nullable(),
      max_steps: z.int().nullable(),
      on_guarded: z.enum(['deny', 'ask']).describe('What happens to calls that need approval.'),
      callback_url: z.string().nullable(),
      messages: z.array(z.object({ role: z.string(), content: z.unknown() })),
      last_run_id: z.string().nullable(),
      created_by: z.string().describe('The key that created it, `home` or `command-line`.'),
      made_in_run_id: z.string().nullable().describe('The run in which its agent made it with its own tool.'),
      created_at: z.string(),
    })
    .meta({ id: 'Schedule', description: 'When messages are sent to an agent.' }),
)

export const wireSchedule = (schedule: Schedule): z.output<typeof scheduleSchema> => ({
  id: schedule.id,
  agent_id: schedule.agentId,
  conversation_id: schedule.conversationId ?? null,
  name: schedule.name,
  state: stateOf(schedule),
  timing: wireTiming(schedule),
  next_at: time(schedule.nextAt),
  ends_at: time(schedule.endsAt),
  quiet_hours: schedule.quietHours ?? null,
  heartbeat: wireHeartbeat(schedule),
  grace_seconds: schedule.graceMs / 1_000,
  coalesce: schedule.coalesce,
  model: schedule.model ?? null,
  max_steps: schedule.maxSteps ?? null,
  on_guarded: schedule.onGuarded,
  callback_url: schedule.callback?.url ?? null,
  messages: schedule.inputs.map(({ role, content }) => ({ role, content: wireContent(content) })),
  last_run_id: schedule.lastRun ?? null,
  created_by: schedule.createdBy.actor,
  made_in_run_id: schedule.byRun ?? null,
  created_at: new Date(schedule.createdAt).toISOString(),
})

function wireHeartbeat({ heartbeat }: Schedule): z.output<typeof scheduleSchema>['heartbeat'] {
  if (!heartbeat) return null
  const { silence, restMs, turnsPerDay, dollarsPerDay, timezone } = heartbeat
  return {
    silence,
    rest_seconds: restMs / 1_000,
    turns_per_day: turnsPerDay,
    dollars_per_day: dollarsPerDay ?? null,
    timezone,
  }
}

function wireTiming({ timing }: Schedule): z.output<typeof scheduleSchema>['timing'] {
  switch (timing.type) {
    case 'once':
      return { type: 'once', at: new Date(timing.at).toISOString() }
    case 'interval':
      return { type: 'interval', every_seconds: timing.everyMs / 1_000, from: new Date(timing.from).toISOString() }
    case 'cron':
      return timing
  }
}

export const instantSchema = z.lazy(() =>
  z
    .object({
      instant: z.string(),
      last_instant: z.string().describe('The last one, if several in a row have the same outcome and reason.'),
      count: z.int(),
      outcome: z.enum(INSTANT_OUTCOMES),
      reason: z.string().nullable().describe('Why it did not fire.'),
      run_id: z.string().nullable().describe('The run that it fired.'),
      settled_at: z.string(),
      late_seconds: z.number().describe('How long after the last instant it was settled.'),
      manual: z.boolean().describe('Whether a person asked for it, outside the timing.'),
    })
    .meta({ id: 'ScheduleInstant', description: 'What became of an instant of a schedule.' }),
)

export const wireInstant = (one: SettledInstant): z.output<typeof instantSchema> => ({
  instant: new Date(one.instant).toISOString(),
  last_instant: new Date(one.lastInstant).toISOString(),
  count: one.count,
  outcome: one.outcome,
  reason: one.reason ?? null,
  run_id: one.runId ?? null,
  settled_at: new Date(one.settledAt).toISOString(),
  late_seconds: Math.max(0, one.settledAt - one.lastInstant) / 1_000,
  manual: one.isManual,
})
