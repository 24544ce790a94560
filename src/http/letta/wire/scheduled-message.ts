import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import type { Schedule, ScheduleTiming } from '../../../core/schedule.ts'
import { wireContent } from './input-content.ts'

export const scheduledMessageSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      agent_id: z.string(),
      message: z.object({
        messages: z.array(
          z.object({
            role: z.string(),
            content: z.unknown(),
            name: z.string().optional(),
            otid: z.string().optional(),
          }),
        ),
        callback_url: z.string().optional(),
        max_steps: z.int().optional(),
      }),
      next_scheduled_time: z.string().nullable().describe('Null: there is none, or it is paused.'),
      schedule: z.union([
        z.object({ type: z.literal('one-time'), scheduled_at: z.number() }),
        z.object({ type: z.literal('recurring'), cron_expression: z.string() }),
      ]),
    })
    .meta({ id: 'ScheduledMessage', description: 'A message that is sent at a time, or again and again.' }),
)

export const wireScheduledMessage = (schedule: Schedule) => ({
  id: schedule.id,
  agent_id: schedule.agentId,
  message: {
    messages: schedule.inputs.map(({ role, content, name, otid }) => ({
      role,
      content: wireContent(content),
      ...defined({ name, otid }),
    })),
    ...defined({ callback_url: schedule.callback?.url, max_steps: schedule.maxSteps }),
  },
  next_scheduled_time:
    schedule.nextAt === undefined || schedule.isPaused ? null : new Date(schedule.nextAt).toISOString(),
  schedule: wireTiming(schedule.timing),
})

/** The client knows no intervals; they are named as cron dialects name them. */
function wireTiming(timing: ScheduleTiming) {
  switch (timing.type) {
    case 'once':
      return { type: 'one-time' as const, scheduled_at: timing.at }
    case 'interval':
      return { type: 'recurring' as const, cron_expression: `@every ${timing.everyMs / 1_000}s` }
    case 'cron':
      return { type: 'recurring' as const, cron_expression: timing.expression }
  }
}
