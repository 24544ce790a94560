import { z } from 'zod'
import { listAudit } from '../../service/people/audit.ts'
import { operation } from '../operation.ts'
import { listQuery, pageOf } from '../paging.ts'
import { organizationIn, organizationQuery } from './organization.ts'
import { auditEntrySchema, wireAuditEntry } from './wire/audit.ts'

const listAuditOperation = operation({
  route: 'GET /v1/audit',
  scope: 'admin',
  summary: 'Lists the audit log, newest first: who did what, when, from where and with which outcome',
  query: listQuery(100).extend(organizationQuery.shape),
  answer: z.array(auditEntrySchema),
  handle: async ({ query }, context) =>
    (await listAudit({ page: pageOf(query), ...organizationIn(query) }, context)).map(wireAuditEntry),
})

export const auditOperations = [listAuditOperation]
