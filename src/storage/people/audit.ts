import { sql } from 'kysely'
import type { AuditEntry, AuditId } from '../../core/audit.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { AuditLog } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { type Bounds, inBounds, readPage } from '../database/list-page.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { AUDIT_ENTRY } from '../rows/people-rows.ts'

/** Append-only: no statement changes or removes an entry. */
export function auditLog({ read, write }: Database): AuditLog {
  return {
    append: (entry) =>
      write({
        key: entry.id,
        async work(db) {
          await insertEntry(db, entry)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, entry.id)) ? true : undefined),
      }).then(() => undefined),

    list: (organizationId, page) =>
      read((db) =>
        readPage(page, {
          find: (id) => db.get(byId.plain, { organization: organizationId, id: id as AuditId }),
          read: (direction, bounds) => db.page(LISTS[direction], { ...bounds, organization: organizationId }),
          objectOf: AUDIT_ENTRY.objectOf,
        }),
      ),
  }
}

export async function insertEntry(db: Executor, entry: AuditEntry): Promise<void> {
  await db.run(insert, AUDIT_ENTRY.rowOf(entry))
}

export const hasEntry = async (db: Executor, id: AuditId): Promise<boolean> =>
  (await db.get(present, { id })) !== undefined

const insert = insertInto('audit_log', AUDIT_ENTRY.columns)

const byId = rowById('audit_log')

const present = statement<{ id: AuditId }>()((db, p) =>
  db.selectFrom('audit_log').select('number').where('id', '=', p('id')),
)

const listOf = (direction: 'asc' | 'desc') =>
  statement<Bounds & { organization: OrganizationId }>()((db, p) =>
    db
      .selectFrom('audit_log')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = { up: listOf('asc'), down: listOf('desc') }
