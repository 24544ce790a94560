import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { AgentId, ScheduleId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ScheduleTiming } from '../../core/schedule.ts'
import { acceptCallback, withShownCallback } from '../../service/messages/callbacks.ts'
import {
  createSchedule,
  deleteSchedule,
  listSchedules,
  requireSchedule as requireAny,
} from '../../service/schedules/schedules.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { id, limit } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { agentPath, requireAgent } from './path-params.ts'
import { plainInput, toNewInput } from './send-body.ts'
import { messageType } from './wire/message-type.ts'
import { scheduledMessageSchema, wireScheduledMessage } from './wire/scheduled-message.ts'

const scheduledPath = { ...agentPath, scheduled_message_id: id('schedule').describe('The id of a scheduled message.') }

/** Times beyond what a Date can show. */
const MAX_TIME = 8.64e15

const timingBody = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('one-time'),
    scheduled_at: z.number().min(0).max(MAX_TIME).describe('Unix time in milliseconds.'),
  }),
  z.object({
    type: z.literal('recurring'),
    cron_expression: z.string().max(500).describe('Cron expression of five fields, in UTC.'),
  }),
])

/** The client may omit the type. */
const timing = z.preprocess((value) => {
  if (value === null || typeof value !== 'object' || 'type' in value) return value
  return { ...value, type: 'cron_expression' in value ? 'recurring' : 'one-time' }
}, timingBody)

const create = operation({
  route: 'POST /v1/agents/:agent_id/schedule',
  scope: 'agent',
  summary: 'Sends messages to an agent at a time, or again and again',
  params: agentPath,
  body: z.object({
    messages: z.array(plainInput).min(1).max(100).describe('Messages to send.'),
    schedule: timing.describe('When they are sent. `POST /v1/schedules` has time zones, intervals and more.'),
    callback_url: z.string().max(2048).nullish().describe('Webhook that Holdfast calls when a run has ended.'),
    max_steps: z.int().min(1).max(10_000).nullish().describe('Maximum number of steps of a run.'),
    include_return_message_types: withoutEffect(
      z.array(messageType).nullish(),
      'a scheduled run has no response to leave messages out of.',
    ),
  }),
  example: {
    messages: [{ role: 'user', content: 'What is new?' }],
    schedule: { type: 'recurring', cron_expression: '0 9 * * 1-5' },
  },
  answer: z.object({ id: z.string(), next_scheduled_at: z.string().optional() }),
  async handle({ params, body }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const { messages, schedule, callback_url, max_steps } = body
    const created = await createSchedule(
      {
        agent,
        timing: toTiming(schedule),
        inputs: messages.map(toNewInput),
        ...defined({
          callback: callback_url ? acceptCallback(callback_url, context) : undefined,
          maxSteps: max_steps ?? undefined,
        }),
      },
      context,
    )
    const { nextAt } = created
    return {
      id: created.id,
      ...defined({ next_scheduled_at: nextAt === undefined ? undefined : new Date(nextAt).toISOString() }),
    }
  },
})

const toTiming = (body: z.output<typeof timingBody>): ScheduleTiming =>
  body.type === 'one-time'
    ? { type: 'once', at: Math.round(body.scheduled_at) }
    : { type: 'cron', expression: body.cron_expression, timezone: 'UTC' }

const list = operation({
  route: 'GET /v1/agents/:agent_id/schedule',
  scope: 'read',
  summary: 'Lists the scheduled messages of an agent, the oldest first',
  params: agentPath,
  query: z.object({
    limit: limit(50),
    after: z.string().optional().describe('Cursor: id of the last item of the previous page.'),
  }),
  answer: z.object({ has_next_page: z.boolean(), scheduled_messages: z.array(scheduledMessageSchema) }),
  async handle({ params, query }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const page = { limit: query.limit + 1, order: 'asc' as const, ...defined({ after: query.after || undefined }) }
    const found = await listSchedules({ agentId: agent.id }, page, context)
    return {
      has_next_page: found.length > query.limit,
      scheduled_messages: found
        .slice(0, query.limit)
        .map((one) => wireScheduledMessage(withShownCallback(one, context))),
    }
  },
})

const show = operation({
  route: 'GET /v1/agents/:agent_id/schedule/:scheduled_message_id',
  scope: 'read',
  summary: 'Shows a scheduled message',
  params: scheduledPath,
  answer: scheduledMessageSchema,
  handle: async ({ params }, context) =>
    wireScheduledMessage(
      withShownCallback(await requireScheduled(params.agent_id, params.scheduled_message_id, context), context),
    ),
})

const remove = operation({
  route: 'DELETE /v1/agents/:agent_id/schedule/:scheduled_message_id',
  scope: 'agent',
  summary: 'Deletes a scheduled message; runs that it has opened stay',
  params: scheduledPath,
  answer: z.object({ success: z.literal(true) }),
  async handle({ params }, context) {
    const { id: scheduleId } = await requireScheduled(params.agent_id, params.scheduled_message_id, context)
    await deleteSchedule(scheduleId, context)
    return { success: true as const }
  },
})

async function requireScheduled(agentId: AgentId, scheduleId: ScheduleId, context: ServiceContext) {
  const agent = await requireAgent(agentId, context)
  const schedule = await requireAny(scheduleId, context)
  if (schedule.agentId === agent.id) return schedule
  throw new Problem('not-found', `Agent ${agent.id} has no scheduled message "${scheduleId}".`)
}

export const scheduleOperations = [create, list, show, remove]
