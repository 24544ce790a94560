import { sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { StoredBytesRecord } from '../../core/invariants/stored-bytes.ts'
import { bytesOfRow, COUNTED_COLUMNS } from '../database/counted-columns.ts'
import { type Executor, statement } from '../database/statement.ts'

/** As the triggers have counted, in one row for each connection that wrote. */
export async function storedBytesOf(db: Executor, organization: OrganizationId) {
  const found = await db.get(counted, { organization })
  return { bytes: Number(found?.bytes ?? 0), rows: Number(found?.rows ?? 0) }
}

/** Connections end, and their rows stay: adds them to one. Those that are in use are left for the next time. */
export async function foldStoredBytes(db: Executor, organization: OrganizationId): Promise<void> {
  let bytes = 0
  for (const row of await db.all(unused, { organization })) {
    bytes += Number(row.bytes)
    await db.run(remove, { organization, writer: row.writer })
  }
  if (bytes !== 0) await db.run(add, { organization, bytes })
}

/** For each organization the count, and what its rows have: read in one snapshot. */
export async function storedBytesRecords(db: Executor): Promise<StoredBytesRecord[]> {
  const actual = new Map<OrganizationId, number>()
  for (const statement of SUMS)
    for (const { id, bytes } of await db.all(statement, {})) actual.set(id, (actual.get(id) ?? 0) + Number(bytes))
  const counts = new Map((await db.all(allCounted, {})).map(({ id, bytes }) => [id, Number(bytes)]))
  return [...new Set([...actual.keys(), ...counts.keys()])].map((organizationId) => ({
    organizationId,
    counted: counts.get(organizationId) ?? 0,
    actual: actual.get(organizationId) ?? 0,
  }))
}

const counted = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('stored_bytes')
    .select([sql<number | null>`sum(bytes)`.as('bytes'), sql<number>`count(*)`.as('rows')])
    .where('organization_id', '=', p('organization')),
)

const unused = statement<{ organization: OrganizationId }>()((db, p, { lockOrSkip }) =>
  lockOrSkip(
    db.selectFrom('stored_bytes').select(['writer', 'bytes']).where('organization_id', '=', p('organization')),
  ),
)

const remove = statement<{ organization: OrganizationId; writer: number }>()((db, p) =>
  db.deleteFrom('stored_bytes').where('organization_id', '=', p('organization')).where('writer', '=', p('writer')),
)

const add = statement<{ organization: OrganizationId; bytes: number }>()((db, p) =>
  db
    .insertInto('stored_bytes')
    .values({ organization_id: p('organization'), writer: 0, bytes: p('bytes') })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'writer']).doUpdateSet({ bytes: sql`stored_bytes.bytes + ${p('bytes')}` }),
    ),
)

const allCounted = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('stored_bytes')
    .select(['organization_id as id', sql<number>`sum(bytes)`.as('bytes')])
    .groupBy('organization_id'),
)

const SUMS = (Object.keys(COUNTED_COLUMNS) as (keyof typeof COUNTED_COLUMNS)[]).map((table) =>
  statement<Record<never, never>>()((db) =>
    db
      .selectFrom(table as 'messages')
      .select(['organization_id as id', sql<number>`sum(${sql.raw(bytesOfRow(table, table))})`.as('bytes')])
      .groupBy('organization_id'),
  ),
)
