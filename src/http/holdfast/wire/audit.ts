import { z } from 'zod'
import { AUDIT_OUTCOMES, type ChainedEntry } from '../../../core/audit.ts'
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
        .enum(AUDIT_OUTCOMES)
        .describe(
          '`started`: written before an action that is no transaction, such as an export. `refused`: the caller was not allowed. `failed`: the action was allowed and ended with an error.',
        ),
      detail: z.string().nullable().describe('Verdicts, the names of changed fields, or the name of a tool.'),
      status: z.int().nullable().describe('HTTP status of a refused or failed request.'),
      request_id: z.string().nullable().describe('Id of the request in the access log.'),
      sequence: z
        .int()
        .nullable()
        .describe('Place in the chain of the organization, from 1; null before there was one.'),
      hash: z
        .string()
        .nullable()
        .describe('SHA-256 of the hash before it, a line break, and the entry as canonical JSON.'),
    })
    .meta({ id: 'AuditEntry', description: 'One entry of the audit log.' }),
)

export const wireAuditEntry = (entry: ChainedEntry): z.output<typeof auditEntrySchema> => ({
  id: entry.id,
  date: wireDate(entry.at),
  actor: entry.actor,
  user_id: entry.userId ?? null,
  organization_id: entry.organizationId,
  from: entry.from ?? null,
  verb: entry.verb,
  object: entry.object ?? null,
  outcome: entry.outcome,
  detail: entry.detail ?? null,
  status: entry.status ?? null,
  request_id: entry.requestId ?? null,
  sequence: entry.sequence ?? null,
  hash: entry.hash ?? null,
})
