import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type AuditEntry, type AuditId, type ChainedEntry, chainedText, EMPTY_CHAIN } from '../../core/audit.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { AuditLog } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { type Bounds, inBounds, readPage } from '../database/list-page.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { AUDIT_ENTRY } from '../rows/people-rows.ts'
import { withTicket } from './audited-writes.ts'

/** Append-only: no statement changes or removes an entry. */
export function auditLog({ read, write }: Database): AuditLog {
  return {
    append: (entry) =>
      write({
        key: entry.id,
        async work(db) {
          // A ticket may have been written by a transaction whose answer was lost.
          if (!(await hasEntry(db, entry.id))) await insertEntry(db, entry)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, entry.id)) ? true : undefined),
      }).then(() => undefined),

    within: withTicket,

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

/** Appends to the chain of the organization, in the transaction of the action. */
export async function insertEntry(db: Executor, entry: AuditEntry): Promise<void> {
  const { organizationId: organization } = entry
  await db.run(openChain, { organization_id: organization, ...EMPTY_CHAIN })
  const head = await db.get(headOf.locked, { organization })
  if (!head) throw new Error(`the chain of ${organization} cannot be read in its own transaction`)
  const sequence = head.sequence + 1
  const hash = auditDigest(chainedText({ ...entry, sequence }, head))
  await db.run(insert, AUDIT_ENTRY.rowOf({ ...entry, sequence, hash }))
  await db.run(moveHead, { organization, sequence, hash })
}

export const auditDigest = (text: string): string => createHash('sha256').update(text).digest('hex')

export const hasEntry = async (db: Executor, id: AuditId): Promise<boolean> =>
  (await db.get(present, { id })) !== undefined

/** Every organization with a chain, also where the record of its end is missing. */
export async function chainsIn(db: Executor): Promise<OrganizationId[]> {
  const rows = [...(await db.all(heads, {})), ...(await db.all(chained, {}))]
  return [...new Set(rows.map((row) => row.organization_id))]
}

/** A page of a chain, with its head. */
export async function chainPage(
  db: Executor,
  { organization, after, limit }: { organization: OrganizationId; after: number; limit: number },
) {
  const rows = await db.all(chainAfter, { organization, after, limit })
  const head = await db.get(headOf.plain, { organization })
  return { entries: rows.map((row): ChainedEntry => AUDIT_ENTRY.objectOf(row)), head }
}

const insert = insertInto('audit_log', AUDIT_ENTRY.columns)

const openChain = statement<{ organization_id: OrganizationId; sequence: number; hash: string }>()((db, p) =>
  db
    .insertInto('audit_heads')
    .values({ organization_id: p('organization_id'), sequence: p('sequence'), hash: p('hash') })
    .onConflict((conflict) => conflict.column('organization_id').doNothing()),
)

const headQuery = (isLocked: boolean) =>
  statement<{ organization: OrganizationId }>()((db, p, { lock }) => {
    const head = db
      .selectFrom('audit_heads')
      .select(['sequence', 'hash'])
      .where('organization_id', '=', p('organization'))
    return isLocked ? lock(head) : head
  })

const headOf = { plain: headQuery(false), locked: headQuery(true) }

const moveHead = statement<{ organization: OrganizationId; sequence: number; hash: string }>()((db, p) =>
  db
    .updateTable('audit_heads')
    .set({ sequence: p('sequence'), hash: p('hash') })
    .where('organization_id', '=', p('organization')),
)

const heads = statement<Record<never, never>>()((db) => db.selectFrom('audit_heads').select('organization_id'))

const chained = statement<Record<never, never>>()((db) =>
  db.selectFrom('audit_log').select('organization_id').distinct().where('sequence', 'is not', null),
)

const chainAfter = statement<{ organization: OrganizationId; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('audit_log')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('sequence', '>', p('after'))
    .orderBy('sequence')
    .limit(p('limit')),
)

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
