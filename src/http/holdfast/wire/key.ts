import { z } from 'zod'
import { type ApiKey, SCOPES } from '../../../core/people.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const keySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scope: z
      .enum(SCOPES)
      .describe(
        '`read` reads, `approve` also decides waiting calls, `agent` also works with agents, `tools` also brings source of tools, several of them do each, `admin` also manages people and keys.',
      ),
    prefix: z.string().describe('Public beginning of the key.'),
    organization_id: z.string(),
    user_id: z.string().nullable().describe('User the key belongs to; null for none.'),
    created_at: dateSchema,
    expires_at: dateSchema.nullable().describe('When the key expires; null for never.'),
    revoked_at: dateSchema.nullable().describe('When the key was revoked; null while it is not.'),
  })
  .meta({ id: 'Key', description: 'An API key, without its secret.' })

type WireKey = z.output<typeof keySchema>

export const wireKey = (key: ApiKey): WireKey => ({
  id: key.id,
  name: key.name,
  scope: key.scope,
  prefix: key.prefix,
  organization_id: key.organizationId,
  user_id: key.userId ?? null,
  created_at: wireDate(key.createdAt),
  expires_at: key.expiresAt === undefined ? null : wireDate(key.expiresAt),
  revoked_at: key.revokedAt === undefined ? null : wireDate(key.revokedAt),
})

export const newKeySchema = keySchema
  .extend({ key: z.string().describe('The key itself. No other response contains it.') })
  .meta({ id: 'NewKey', description: 'A new API key with its secret.' })

export const wireNewKey = (key: ApiKey, secret: string): z.output<typeof newKeySchema> => ({
  ...wireKey(key),
  key: secret,
})
