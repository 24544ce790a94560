import type { AuditEntry } from '../../core/audit.ts'
import { Problem } from '../../core/problem.ts'
import { listAudit } from '../../service/people/audit.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

type AuditFlags = { limit: string; organization?: string; json?: boolean }

/** Prints the audit log, newest entry last. */
export const audit = (flags: AuditFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const page = { limit: parseLimit(flags.limit), order: 'desc' } as const
    const where = await namedOrganization(flags.organization, context)
    const entries = (await listAudit({ page, ...where }, context)).reverse()
    if (flags.json) return printJson(out, entries.map(entryJson))
    if (entries.length === 0) out.line('The audit log is empty.')
    for (const { at, actor, from, verb, object, outcome, status } of entries) {
      const what = [verb, object].filter(Boolean).join(' ')
      const how = [outcome, status].filter(Boolean).join(' ')
      out.line(safeText(`${timeJson(at)}  ${how.padEnd(12)} ${what}  by ${actor}${from ? ` from ${from}` : ''}`))
    }
  })

function parseLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit > 0 && limit <= 10_000) return limit
  throw new Problem('invalid', `--limit must be a whole number from 1 to 10000, not "${text}".`)
}

const entryJson = ({ id, at, organizationId, actor, userId, from, requestId, ...rest }: AuditEntry) => ({
  id,
  at: timeJson(at),
  organization_id: organizationId,
  actor,
  user_id: userId ?? null,
  from: from ?? null,
  ...rest,
  request_id: requestId ?? null,
})
