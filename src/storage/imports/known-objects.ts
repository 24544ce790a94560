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

/** Ids of one question, largest first: a batch of messages is asked about in one round trip, an object without ballast. */
const SIZES = [256, 8] as const
type Size = (typeof SIZES)[number]

/** What became of these ids, and which of the others have a row that this import did not create. */
export async function knownObjects(db: Executor, question: Question): Promise<Map<string, KnownObject>> {
  const { ids } = question
  const known = new Map<string, KnownObject>()
  const size = ids.length > SIZES[1] ? SIZES[0] : SIZES[1]
  for (let from = 0; from < ids.length; from += size) {
    const slice = ids.slice(from, from + size)
    for (const [id, state] of await knownSlice(db, { ...question, ids: slice }, size)) known.set(id, state)
  }
  return known
}

async function knownSlice(
  db: Executor,
  { lease, kind, ids, parent }: Question,
  size: Size,
): Promise<Map<string, KnownObject>> {
  const slots = listValues('id', ids, size)
  const rows = await db.all(OBJECTS_WITH[size], { import: lease.number, kind, parent, ...slots })
  const known = new Map<string, KnownObject>(ids.map((id) => [id, { state: 'free' }]))
  const takenBy = TAKEN[kind]?.[size]
  if (takenBy && rows.length < ids.length)
    for (const { id } of await db.all(takenBy, slots)) known.set(id, { state: 'taken' })
  for (const row of rows) known.set(row.source_id, { state: 'known', object: IMPORT_OBJECT.objectOf(row) })
  return known
}

type IdSlots = Slots<'id'>

const objectsWith = (size: Size) =>
  statement<IdSlots & { import: number; kind: ImportKind; parent: string }>()((db, p) =>
    db
      .selectFrom('import_objects')
      .select(['kind', 'parent', 'source_id', 'outcome', 'target_id', 'owner_id', 'reason', 'body', 'read_up_to'])
      .where('import_number', '=', p('import'))
      .where('kind', '=', p('kind'))
      .where('parent', '=', p('parent'))
      .where('source_id', 'in', listParameters(p, 'id', size)),
  )

const OBJECTS_WITH = { 256: objectsWith(256), 8: objectsWith(8) } as const satisfies Record<Size, unknown>

type OwnedTable = 'tools' | 'mcp_servers' | 'blocks' | 'agents' | 'conversations' | 'messages' | 'passages'

type IdStatement = Statement<IdSlots, { id: string }>

function idsIn(table: OwnedTable): Record<Size, IdStatement> {
  const ofSize = (size: Size): IdStatement =>
    statement<IdSlots>()((db, p) =>
      db
        .selectFrom(table as 'agents')
        .select(sql<string>`id`.as('id'))
        .where('id', 'in', listParameters(p, 'id', size) as never),
    )
  return { 256: ofSize(256), 8: ofSize(8) }
}

/** Ids are unique over all organizations. */
const TAKEN: Partial<Record<ImportKind, Record<Size, IdStatement>>> = {
  tool: idsIn('tools'),
  'mcp-server': idsIn('mcp_servers'),
  block: idsIn('blocks'),
  agent: idsIn('agents'),
  conversation: idsIn('conversations'),
  message: idsIn('messages'),
  passage: idsIn('passages'),
}
