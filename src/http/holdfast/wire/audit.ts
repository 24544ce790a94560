import { z } from 'zod'
import type { AuditEntry } from '../../../core/audit.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const auditEntrySchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      date: dateSchema,
      actor: z.string().describe('Id of the key, or `home`, `command-line` or `unknown`.'),
      user_id: z.string().nullable().describe('User of the key; null for none.'),
      organization_id: z.string(),
      from: z.string().nullable().describe('Address the request came from.'),
      verb: z.string().describe('What was done, such as `key.create`, or a method and a route.'),
      object: z.string().nullable().describe('Id of the object of the action.'),
      outcome: z
        .enum(['done', 'refused', 'failed'])
        .describe('`refused`: the caller was not allowed. `failed`: the action was allowed and ended with an error.'),
      status: z.int().nullable().describe('HTTP status of the answer.'),
      request_id: z.string().nullable().describe('Id of the request in the access log.'),
    })
    .meta({ id: 'AuditEntry', description: 'One entry of the audit log.' }),
)

export const wireAuditEntry = (entry: AuditEntry): z.output<typeof auditEntrySchema> => ({
  id: entry.id,
  date: wireDate(entry.at),
  actor: entry.actor,
  user_id: entry.userId ?? null,
  organization_id: entry.organizationId,
  from: entry.from ?? null,
  verb: entry.verb,
  object: entry.object ?? null,
  outcome: entry.outcome,
  status: entry.status ?? null,
  request_id: entry.requestId ?? null,
})
