import { sql } from 'kysely'
import type { AuditEntry, AuditId } from '../../core/audit.ts'
import type { AuditLog } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { type Bounds, boundsOf, inBounds, placesOf } from '../database/list-page.ts'
import type { NewRow } from '../database/schema.ts'
import { type Executor, statement } from '../database/statement.ts'

/** Lines are added and read; no statement changes or removes one. */
export function auditLog({ read, write }: Database): AuditLog {
  return {
    append: (entry) =>
      write({
        key: entry.id,
        async work(db) {
          await insertEntry(db, entry)
          return true
        },
        recall: async (db) => ((await hasEntry(db, entry.id)) ? true : undefined),
      }).then(() => undefined),

    list: (organizationId, page) =>
      read(async (db) => {
        const places = await placesOf(page, async (id) => {
          const row = await db.get(byId, { organization: organizationId, id })
          return row && { key: row.number, number: row.number }
        })
        if (!places) return undefined
        const { bounds, read: direction, reversed } = boundsOf(page, places)
        const rows = await db.all(LISTS[direction], { ...bounds, organization: organizationId })
        const entries = rows.map(entryOf)
        return reversed ? entries.reverse() : entries
      }),
  }
}

export async function insertEntry(db: Executor, entry: AuditEntry): Promise<void> {
  await db.run(insert, rowOf(entry))
}

export const hasEntry = async (db: Executor, id: AuditId): Promise<boolean> =>
  (await db.get(present, { id })) !== undefined

type Row = NewRow<'audit_log'>

const rowOf = (entry: AuditEntry): Row => ({
  id: entry.id,
  organization_id: entry.organizationId,
  at: entry.at,
  actor: entry.actor,
  user_id: entry.userId ?? null,
  from_address: entry.from ?? null,
  verb: entry.verb,
  object: entry.object ?? null,
  outcome: entry.outcome,
  status: entry.status ?? null,
  request_id: entry.requestId ?? null,
})

const entryOf = (row: Row): AuditEntry => ({
  ...{ id: row.id, at: row.at, organizationId: row.organization_id, actor: row.actor, verb: row.verb },
  outcome: row.outcome,
  ...(row.user_id === null ? {} : { userId: row.user_id }),
  ...(row.from_address === null ? {} : { from: row.from_address }),
  ...(row.object === null ? {} : { object: row.object }),
  ...(row.status === null ? {} : { status: row.status }),
  ...(row.request_id === null ? {} : { requestId: row.request_id }),
})

const insert = statement<Row>()((db, p) =>
  db.insertInto('audit_log').values({
    id: p('id'),
    organization_id: p('organization_id'),
    at: p('at'),
    actor: p('actor'),
    user_id: p('user_id'),
    from_address: p('from_address'),
    verb: p('verb'),
    object: p('object'),
    outcome: p('outcome'),
    status: p('status'),
    request_id: p('request_id'),
  }),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('audit_log').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const present = statement<{ id: string }>()((db, p) =>
  db.selectFrom('audit_log').select('number').where('id', '=', p('id')),
)

const listOf = (direction: 'asc' | 'desc') =>
  statement<Bounds & { organization: string }>()((db, p) =>
    db
      .selectFrom('audit_log')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = { up: listOf('asc'), down: listOf('desc') }
