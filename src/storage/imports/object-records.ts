import { type SqlBool, sql } from 'kysely'
import type { ImportObjectRecord } from '../../core/invariants/imports.ts'
import type { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { IMPORT_OBJECT } from '../rows/import-row.ts'

const PAGE = 1_000

/** The rows of all imports, each page a snapshot, with whether what they point to is there. */
export async function* importObjectRecords({ readSnapshot }: Database): AsyncGenerator<ImportObjectRecord> {
  let last: { import: number; kind: string; parent: string; id: string } = { import: 0, kind: '', parent: '', id: '' }
  for (;;) {
    const rows = await readSnapshot((db) => db.all(objectsAfter, { ...last, limit: PAGE }))
    for (const { import_number: _, is_there, ...row } of rows)
      yield { object: IMPORT_OBJECT.objectOf({ ...row, body: null }), isThere: Number(is_there) === 1 }
    const end = rows.at(-1)
    if (!end) return
    last = { import: end.import_number, kind: end.kind, parent: end.parent, id: end.source_id }
  }
}

const existsIn = (table: string) =>
  sql`exists (select 1 from ${sql.table(table)} as target where target.id = target_id)`

/** Kinds whose objects have rows of their own. */
const isThere = sql<number>`case when target_id is null then 0 when case kind
    when 'message' then ${existsIn('messages')}
    when 'agent' then ${existsIn('agents')}
    when 'conversation' then ${existsIn('conversations')}
    when 'block' then ${existsIn('blocks')}
    when 'tool' then ${existsIn('tools')}
    when 'passage' then ${existsIn('passages')}
    when 'mcp-server' then ${existsIn('mcp_servers')}
    else 1 = 0 end then 1 else 0 end`

type After = { import: number; kind: string; parent: string; id: string; limit: number }

const objectsAfter = statement<After>()((db, p) =>
  db
    .selectFrom('import_objects')
    .select([
      'import_number',
      'kind',
      'parent',
      'source_id',
      'outcome',
      'target_id',
      'owner_id',
      'reason',
      'read_up_to',
      isThere.as('is_there'),
    ])
    .where(
      sql<SqlBool>`(import_number, kind, parent, source_id) > (cast(${p('import')} as bigint), ${p('kind')}, ${p('parent')}, ${p('id')})`,
    )
    .orderBy('import_number')
    .orderBy('kind')
    .orderBy('parent')
    .orderBy('source_id')
    .limit(p('limit')),
)
