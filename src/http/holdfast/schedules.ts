import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { DEFAULT_HEARTBEAT_TEXT, DEFAULT_REST_MS, DEFAULT_SILENCE, type Heartbeat } from '../../core/heartbeat.ts'
import { Problem } from '../../core/problem.ts'
import { type ScheduleTiming, upcomingInstants } from '../../core/schedule.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { acceptCallback, withShownCallback } from '../../service/messages/callbacks.ts'
import {
  createSchedule,
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  requireSchedule,
  runScheduleNow,
  scheduleHistory,
} from '../../service/schedules/schedules.ts'
import { date, id, limit } from '../field.ts'
import { requireModelIn } from '../letta/model-handle.ts'
import { requireAgentNamed } from '../letta/path-params.ts'
import { contentBody, toInputParts } from '../letta/send-body.ts'
import { operation } from '../operation.ts'
import { listQuery, pageOf } from '../paging.ts'
import { instantSchema, scheduleSchema, wireInstant, wireSchedule } from './wire/schedule.ts'

const schedulePath = { schedule_id: id('schedule').describe('The id of a schedule.') }

const heartbeatBody = z.object({
  silence: z
    .string()
    .max(100)
    .nullish()
    .describe(`The answer that says nothing; the agent is told so. Default: ${DEFAULT_SILENCE}.`),
  rest_seconds: z
    .number()
    .nullish()
    .describe(`How long after a turn of a person it is held back, 0 to 86400. Default: ${DEFAULT_REST_MS / 1_000}.`),
  turns_per_day: z
    .number()
    .nullish()
    .describe('Runs in a day, 1 to 1440. Default: `schedules.heartbeat_turns_per_day`.'),
  dollars_per_day: z
    .number()
    .nullish()
    .describe('Fires nothing more in a day in which its runs have cost this. Default: no limit.'),
})

const create = operation({
  route: 'POST /v1/schedules',
  scope: 'agent',
  summary: 'Creates a schedule: a message that is sent to an agent once, at an interval, or by a cron expression',
  body: z.object({
    agent_id: z.string().describe('The agent.'),
    conversation_id: z.string().nullish().describe('A conversation of the agent. Default: its default conversation.'),
    name: z.string().max(200).nullish().describe('For people.'),
    content: contentBody
      .nullish()
      .describe('The message: text, or a list of texts and images. Only a heartbeat may leave it out.'),
    heartbeat: heartbeatBody
      .nullish()
      .describe(
        'Makes it a heartbeat: its agent is asked whether something is to be done, and may say nothing. It is held back while a person talks in the conversation and has a daily budget.',
      ),
    at: date.nullish().describe('Fires once at this time. Either this, `every_seconds` or `cron`.'),
    every_seconds: z
      .number()
      .nullish()
      .describe('Fires at this interval, from 60 seconds on; first after one interval, or at `starts_at`.'),
    starts_at: date.nullish().describe('The first instant of an interval.'),
    cron: z.string().max(500).nullish().describe('Cron expression of five fields: minute, hour, day, month, weekday.'),
    timezone: z
      .string()
      .max(100)
      .nullish()
      .describe('Time zone of `cron`, of the quiet hours, and of the days of a heartbeat. Default: UTC.'),
    ends_at: date.nullish().describe('No instant is later.'),
    quiet_hours: z
      .object({
        from: z.string().describe('Local time as HH:MM.'),
        to: z.string().describe('Local time as HH:MM; earlier than `from`: on the next day.'),
      })
      .nullish()
      .describe('Instants in these hours are skipped.'),
    grace_seconds: z
      .number()
      .nullish()
      .describe('How late an instant may still fire, 60 to 604800; later it is missed. Default: 3600.'),
    coalesce: z
      .boolean()
      .nullish()
      .describe(
        'Of several instants that are due at once only the last fires, and none while the run of an earlier one goes on. False: every one fires. Default: true.',
      ),
    model: z.string().nullish().describe('Model of its runs, as provider/model.'),
    max_steps: z.int().min(1).max(10_000).nullish().describe('Maximum number of steps of a run.'),
    on_guarded: z
      .enum(['deny', 'ask'])
      .nullish()
      .describe('Whether calls that need approval are denied or wait for a person. Default: deny.'),
    callback_url: z.string().max(2048).nullish().describe('Webhook that Holdfast calls when a run has ended.'),
  }),
  example: {
    agent_id: 'agent-00000000-0000-4000-8000-000000000000',
    content: 'Write the report of the day.',
    cron: '0 18 * * mon-fri',
    timezone: 'Europe/Berlin',
  },
  answer: scheduleSchema,
  async handle({ body }, context) {
    const agent = await requireAgentNamed(body.agent_id, context)
    const timezone = body.timezone ?? 'UTC'
    const conversation =
      body.conversation_id && body.conversation_id !== 'default'
        ? await requireConversation(agent, body.conversation_id, context)
        : undefined
    const {
      heartbeat,
      content,
      name,
      ends_at,
      quiet_hours,
      grace_seconds,
      coalesce,
      model,
      max_steps,
      on_guarded,
      callback_url,
    } = body
    return wireSchedule(
      await createSchedule(
        {
          agent,
          timing: timingOf(body, context.deps.clock.now()),
          inputs: [{ role: 'user', content: toInputParts(content ?? (heartbeat ? DEFAULT_HEARTBEAT_TEXT : '')) }],
          ...defined({
            heartbeat: heartbeat ? heartbeatOf(heartbeat, timezone) : undefined,
            name: name ?? undefined,
            conversationId: conversation?.id,
            endsAt: ends_at ? Date.parse(ends_at) : undefined,
            quietHours: quiet_hours ? { ...quiet_hours, timezone } : undefined,
            graceMs: typeof grace_seconds === 'number' ? Math.round(grace_seconds * 1_000) : undefined,
            coalesce: coalesce ?? undefined,
            model: model ? requireModelIn('body.model', model, context) : undefined,
            maxSteps: max_steps ?? undefined,
            onGuarded: on_guarded ?? undefined,
            callback: callback_url ? acceptCallback(callback_url, context) : undefined,
          }),
        },
        context,
      ),
    )
  },
})

const heartbeatOf = (
  { silence, rest_seconds, turns_per_day, dollars_per_day }: z.output<typeof heartbeatBody>,
  timezone: string,
): Partial<Heartbeat> =>
  defined({
    timezone,
    silence: silence?.trim(),
    restMs: typeof rest_seconds === 'number' ? Math.round(rest_seconds * 1_000) : undefined,
    turnsPerDay: turns_per_day ?? undefined,
    dollarsPerDay: dollars_per_day ?? undefined,
  })

type TimingBody = {
  at?: string | null | undefined
  every_seconds?: number | null | undefined
  starts_at?: string | null | undefined
  cron?: string | null | undefined
  timezone?: string | null | undefined
  quiet_hours?: unknown
  heartbeat?: unknown
}

function timingOf(
  { at, every_seconds, starts_at, cron, timezone, quiet_hours, heartbeat }: TimingBody,
  now: number,
): ScheduleTiming {
  const named = [at, every_seconds, cron].filter((one) => one !== null && one !== undefined)
  if (named.length !== 1) throw new Problem('invalid', 'body: send exactly one of `at`, `every_seconds` and `cron`')
  if (starts_at && typeof every_seconds !== 'number')
    throw new Problem('invalid', 'body.starts_at: is for `every_seconds` only')
  if (timezone && !cron && !quiet_hours && !heartbeat)
    throw new Problem('invalid', 'body.timezone: is for `cron`, `quiet_hours` and `heartbeat` only')
  if (at) return { type: 'once', at: Date.parse(at) }
  if (typeof every_seconds === 'number') {
    const everyMs = Math.round(every_seconds * 1_000)
    return { type: 'interval', everyMs, from: starts_at ? Date.parse(starts_at) : now + everyMs }
  }
  return { type: 'cron', expression: (cron ?? '').trim(), timezone: timezone ?? 'UTC' }
}

const list = operation({
  route: 'GET /v1/schedules',
  scope: 'read',
  summary: 'Lists schedules',
  query: listQuery().extend({ agent_id: id('agent').optional().describe('Schedules of this agent only.') }),
  answer: z.array(scheduleSchema),
  handle: async ({ query }, context) =>
    (await listSchedules(defined({ agentId: query.agent_id }), pageOf(query), context)).map((one) =>
      wireSchedule(withShownCallback(one, context)),
    ),
})

const show = operation({
  route: 'GET /v1/schedules/:schedule_id',
  scope: 'read',
  summary: 'Shows a schedule',
  params: schedulePath,
  answer: scheduleSchema,
  handle: async ({ params }, context) =>
    wireSchedule(withShownCallback(await requireSchedule(params.schedule_id, context), context)),
})

const remove = operation({
  route: 'DELETE /v1/schedules/:schedule_id',
  scope: 'agent',
  summary: 'Deletes a schedule with its history; its runs stay',
  params: schedulePath,
  answer: z.object({ deleted: z.literal(true) }),
  async handle({ params }, context) {
    await deleteSchedule(params.schedule_id, context)
    return { deleted: true as const }
  },
})

const pause = operation({
  route: 'POST /v1/schedules/:schedule_id/pause',
  scope: 'agent',
  summary: 'Pauses a schedule; its instants until it is resumed are skipped',
  params: schedulePath,
  answer: scheduleSchema,
  handle: async ({ params }, context) =>
    wireSchedule(await pauseSchedule(params.schedule_id, { isPaused: true }, context)),
})

const resume = operation({
  route: 'POST /v1/schedules/:schedule_id/resume',
  scope: 'agent',
  summary: 'Resumes a paused schedule',
  params: schedulePath,
  answer: scheduleSchema,
  handle: async ({ params }, context) =>
    wireSchedule(await pauseSchedule(params.schedule_id, { isPaused: false }, context)),
})

const run = operation({
  route: 'POST /v1/schedules/:schedule_id/run',
  scope: 'agent',
  summary: 'Fires a schedule now, once, outside its timing',
  params: schedulePath,
  body: z
    .object({
      request_id: z
        .string()
        .min(1)
        .max(200)
        .nullish()
        .describe('Of the caller: a repeated request with the same id gets the run of the first one.'),
    })
    .nullish(),
  answer: z.object({ run_id: z.string() }),
  async handle({ params, body }, context) {
    const request = defined({ key: body?.request_id ?? undefined })
    const { runId } = await runScheduleNow(params.schedule_id, request, context)
    return { run_id: runId }
  },
})

const history = operation({
  route: 'GET /v1/schedules/:schedule_id/history',
  scope: 'read',
  summary: 'Lists what became of the instants of a schedule, the newest first',
  params: schedulePath,
  query: z.object({
    limit: limit(50),
    before: date.optional().describe('Instants before this time only: `instant` of the last item of the page before.'),
  }),
  answer: z.array(instantSchema),
  async handle({ params, query }, context) {
    const page = { limit: query.limit, ...defined({ before: query.before ? Date.parse(query.before) : undefined }) }
    return (await scheduleHistory(params.schedule_id, page, context)).map(wireInstant)
  },
})

const upcoming = operation({
  route: 'GET /v1/schedules/:schedule_id/upcoming',
  scope: 'read',
  summary: 'Lists the next instants of a schedule',
  params: schedulePath,
  query: z.object({ limit: limit(5, 100) }),
  answer: z.array(
    z.object({ instant: z.string(), quiet: z.boolean().describe('In quiet hours: it will be skipped.') }),
  ),
  async handle({ params, query }, context) {
    const schedule = await requireSchedule(params.schedule_id, context)
    return upcomingInstants(schedule, query.limit).map(({ instant, isQuiet }) => ({
      instant: new Date(instant).toISOString(),
      quiet: isQuiet,
    }))
  },
})

export const scheduleOperations = [create, list, show, remove, pause, resume, run, history, upcoming]
