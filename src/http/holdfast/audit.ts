import type { AuditEntry } from '../../core/audit.ts'
import { listAudit } from '../../service/people/audit.ts'
import { listQuery, pageOf } from '../letta/list-query.ts'
import { parsed } from '../letta/parse.ts'
import { wireDate } from '../letta/wire/message.ts'
import type { Routes } from '../routes.ts'
import { given, organizationQuery } from './of-organization.ts'

const auditQuery = listQuery(100).extend(organizationQuery.shape)

/** Who did what. For administrators. */
export function registerAuditRoutes(routes: Routes): void {
  routes.get(
    '/v1/audit',
    async ({ query }, desk) => {
      const asked = parsed(auditQuery, query, 'query')
      const page = pageOf(asked)
      return (await listAudit({ page, ...given({ organizationId: asked.organization_id }) }, desk)).map(wireEntry)
    },
    { summary: 'Who did what, when, from where, and what came of it; newest first', query: auditQuery },
  )
}

const wireEntry = (entry: AuditEntry) => ({
  ...{ id: entry.id, date: wireDate(entry.at), actor: entry.actor, user_id: entry.userId ?? null },
  ...{ organization_id: entry.organizationId, from: entry.from ?? null, verb: entry.verb },
  ...{ object: entry.object ?? null, outcome: entry.outcome, status: entry.status ?? null },
  request_id: entry.requestId ?? null,
})
