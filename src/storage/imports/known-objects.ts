import { sql } from 'kysely'
import type { ImportKind } from '../../core/import.ts'
import type { ImportLease, KnownObject } from '../../ports/import-store.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Slots,
  type Statement,
  statement,
} from '../database/statement.ts'
import { IMPORT_OBJECT } from '../rows/import-row.ts'

type Question = { lease: ImportLease; kind: ImportKind; ids: readonly string[]; parent: string }

const AT_ONCE = 64

/** What became of these ids, and which of the others have a row that this import did not create. */
export async function knownObjects(db: Executor, question: Question): Promise<Map<string, KnownObject>> {
  const { ids } = question
  const known = new Map<string, KnownObject>()
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const slice = ids.slice(from, from + AT_ONCE)
    for (const [id, state] of await knownSlice(db, { ...question, ids: slice })) known.set(id, state)
  }
  return known
}

async function knownSlice(db: Executor, { lease, kind, ids, parent }: Question): Promise<Map<string, KnownObject>> {
  const slots = listValues('id', ids, AT_ONCE)
  const rows = await db.all(objectsWith, { import: lease.number, kind, parent, ...slots })
  const known = new Map<string, KnownObject>(ids.map((id) => [id, { state: 'free' }]))
  const takenBy = TAKEN[kind]
  if (takenBy && rows.length < ids.length)
    for (const { id } of await db.all(takenBy, slots)) known.set(id, { state: 'taken' })
  for (const row of rows) known.set(row.source_id, { state: 'known', object: IMPORT_OBJECT.objectOf(row) })
  return known
}

type IdSlots = Slots<'id'>

const objectsWith = statement<IdSlots & { import: number; kind: ImportKind; parent: string }>()((db, p) =>
  db
    .selectFrom('import_objects')
    .select(['kind', 'parent', 'source_id', 'outcome', 'target_id', 'owner_id', 'reason', 'body', 'read_up_to'])
    .where('import_number', '=', p('import'))
    .where('kind', '=', p('kind'))
    .where('parent', '=', p('parent'))
    .where('source_id', 'in', listParameters(p, 'id', AT_ONCE)),
)

type OwnedTable = 'tools' | 'mcp_servers' | 'blocks' | 'agents' | 'conversations' | 'messages' | 'passages'

const idsIn = (table: OwnedTable): Statement<IdSlots, { id: string }> =>
  statement<IdSlots>()((db, p) =>
    db
      .selectFrom(table as 'agents')
      .select(sql<string>`id`.as('id'))
      .where('id', 'in', listParameters(p, 'id', AT_ONCE) as never),
  )

/** Ids are unique over all organizations. */
const TAKEN: Partial<Record<ImportKind, Statement<IdSlots, { id: string }>>> = {
  tool: idsIn('tools'),
  'mcp-server': idsIn('mcp_servers'),
  block: idsIn('blocks'),
  agent: idsIn('agents'),
  conversation: idsIn('conversations'),
  message: idsIn('messages'),
  passage: idsIn('passages'),
}
