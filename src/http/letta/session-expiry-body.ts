import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { DAILY_AT, MAX_IDLE_MINUTES, type SessionExpiry } from '../../core/session-expiry.ts'
import { isTimeZone } from '../../core/zoned-time.ts'

const fields = z.object({
  idle_minutes: z
    .int()
    .min(1)
    .max(MAX_IDLE_MINUTES)
    .nullish()
    .describe('Ends a session after this many minutes without activity.'),
  daily_at: z
    .string()
    .regex(DAILY_AT, 'must be a time as HH:MM, from 00:00 to 23:59')
    .nullish()
    .describe('Ends idle sessions every day at this local time, as HH:MM.'),
  timezone: z
    .string()
    .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
    .nullish()
    .describe('Time zone of `daily_at`. Default: UTC.'),
})

/** In requests. */
export const sessionExpiryBody = fields
  .refine(({ idle_minutes, daily_at }) => Boolean(idle_minutes || daily_at), 'needs `idle_minutes` or `daily_at`')
  .refine(({ daily_at, timezone }) => !timezone || Boolean(daily_at), '`timezone` needs `daily_at`')
  .nullish()
  .describe(
    'When sessions of the agent end: processes end, and the next message begins a new context. null: never, the default. Only Holdfast has this field.',
  )

/** In answers. */
export const sessionExpirySchema = z
  .object({
    idle_minutes: z.int().nullable(),
    daily_at: z.string().nullable(),
    timezone: z.string().nullable().describe('Time zone of `daily_at`; null without it.'),
  })
  .nullable()
  .describe('When sessions of the agent end; null for never. Only Holdfast has this field.')

export const toSessionExpiry = (body: z.output<typeof fields>): SessionExpiry =>
  defined({
    idleMinutes: body.idle_minutes ?? undefined,
    dailyAt: body.daily_at ?? undefined,
    timezone: body.timezone ?? undefined,
  })

export function wireSessionExpiry(expiry: SessionExpiry | undefined): z.output<typeof sessionExpirySchema> {
  if (!expiry) return null
  const { idleMinutes, dailyAt, timezone } = expiry
  return {
    idle_minutes: idleMinutes ?? null,
    daily_at: dailyAt ?? null,
    timezone: dailyAt === undefined ? null : (timezone ?? 'UTC'),
  }
}
