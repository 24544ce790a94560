import { type Kysely, type SqlBool, sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import type {
  ChunkAppend,
  ChunkStore,
  FormerWriter,
  StoredChunk,
  StreamHead,
  SyncChunkAppend,
} from '../../ports/chunk-store.ts'
import { StorageError } from '../../ports/storage-error.ts'
import type { Transact, Work } from '../database/database.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Awaitable, type Executor, type Parameter, statement } from '../database/statement.ts'
import type { Tables } from '../rows/tables.ts'
import { eraseStreams, headsAfter } from './erase-streams.ts'

type ChunkDatabase = {
  transact: Transact
  read<T>(work: Work<T>): Promise<T>
  /** Runs one statement synchronously as its own transaction; `busy` if another is open. */
  runSync?<T>(work: (db: Executor) => T): T | 'busy'
  /** Id of the current boot: chunks written without fsync under another boot may be lost. '' if unknown. */
  bootId: string
  /** Empties the write-ahead log; absent where there is none. */
  emptyLog?(): Promise<void>
  close(): Promise<void>
}

export function chunkStore({ transact, read, runSync, bootId, emptyLog, close }: ChunkDatabase): ChunkStore {
  return {
    ...defined({
      appendSync: runSync
        ? (append: SyncChunkAppend) => runSync((db) => appendSync(db, append, bootId)) === 1
        : undefined,
    }),
    open: (runId, fence, former = fence > 1 ? 'possible' : 'none') =>
      transact((db) => openStream(db, { runId, fence, former, bootId })),
    append: (appends) => appendExactlyOnce(appends, { transact, bootId }),
    read: (runId, after, limit) =>
      read(async (db) => {
        const rows = await db.all(rowsAfter, { run: runId, after, limit })
        const chunks: StoredChunk[] = []
        for (const row of rows) {
          if (chunks.length >= limit) break
          chunks.push(...decode(row).filter((chunk) => chunk.number > after))
        }
        return chunks.slice(0, limit)
      }),
    head: (runId) =>
      read(async (db) => {
        const row = await db.get(headOf, { run: runId })
        return row && streamHead(row, bootId)
      }),
    unended: (limit) => read(async (db) => (await db.all(unended, { limit })).map((row) => row.run_id)),
    prune: (endedBefore, limit) =>
      transact(async (db) => {
        await db.run(deleteChunks, { before: endedBefore, limit })
        return db.run(deleteHeads, { before: endedBefore, limit })
      }),
    async erase(runIds) {
      await eraseStreams(runIds, transact)
      await emptyLog?.()
    },
    runsAfter: (after, limit) =>
      read(async (db) => (await db.all(headsAfter, { after, limit, sentinel: SENTINEL })).map((row) => row.run_id)),
    close,
  }
}

async function openStream(
  db: Executor,
  { runId, fence, former, bootId }: { runId: RunId; fence: number; former: FormerWriter; bootId: string },
): Promise<StreamHead | 'fenced'> {
  const found = await db.get(headOf, { run: runId })
  // Normally the stream is new, but an earlier holder may have written one that was lost with its head.
  const mayHaveLost = !found && former === 'possible' && (await headsMayBeLost(db, bootId))
  const taken = await db.get(takeHead, { run: runId, fence, boot: mayHaveLost ? LOST : '' })
  if (!taken) return 'fenced'
  if (found) return streamHead(found, bootId)
  return { last: 0, lastEvent: 0, ended: false, mayHaveLost }
}

async function headsMayBeLost(db: Executor, bootId: string): Promise<boolean> {
  const sentinel = await db.get(headOf, { run: SENTINEL })
  return !sentinel || (sentinel.boot_id !== '' && sentinel.boot_id !== bootId)
}

/** A head written when the file is created, with the boot id of that time. */
export const SENTINEL = 'sentinel' as RunId

/** Stored as boot id until the first chunk is written, so that the next writer also learns of the loss. */
const LOST = 'lost'

/** The append does not state the last number its writer knows. */
const ANY_LAST = -1

type AppendOutcome = number | 'fenced' | 'ended'

/** After a commit of unknown outcome, the heads show whether it happened: no other writer has these fences. */
async function appendExactlyOnce(
  appends: readonly ChunkAppend[],
  { transact, bootId }: Pick<ChunkDatabase, 'transact' | 'bootId'>,
): Promise<AppendOutcome[]> {
  let outcomes: AppendOutcome[] = []
  try {
    return await transact(async (db) => {
      outcomes = await appendAll(db, appends, bootId)
      return outcomes
    })
  } catch (error) {
    if (!(error instanceof StorageError && error.fault === 'outcome-unknown')) throw error
    return transact(async (db) =>
      (await isWritten(db, appends, outcomes)) ? outcomes : appendAll(db, appends, bootId),
    )
  }
}

/** A commit is atomic, so the first stream that was to be written stands for all. */
async function isWritten(db: Executor, appends: readonly ChunkAppend[], outcomes: AppendOutcome[]): Promise<boolean> {
  for (const [index, { runId, fence, chunks }] of appends.entries()) {
    const first = outcomes[index]
    if (typeof first !== 'number' || chunks.length === 0) continue
    const head = await db.get(lockHead, { run: runId })
    return head?.fence === fence && head.last >= first + chunks.length - 1
  }
  return false
}

async function appendAll(db: Executor, appends: readonly ChunkAppend[], bootId: string): Promise<AppendOutcome[]> {
  const outcomes = new Array<AppendOutcome>(appends.length)
  // In the same order in every process, to avoid deadlocks.
  const order = appends.map((append, index) => ({ append, index }))
  if (order.length > 1) order.sort((one, other) => (one.append.runId < other.append.runId ? -1 : 1))
  for (const { append, index } of order) outcomes[index] = await appendOne(db, append, bootId)
  return outcomes
}

async function appendOne(db: Executor, append: ChunkAppend, bootId: string): Promise<AppendOutcome> {
  const { runId, fence, last = ANY_LAST, floor, chunks, ended, at } = append
  let event = 0
  for (const chunk of chunks) if (chunk.event > event) event = chunk.event
  const values = {
    run: runId,
    fence,
    count: chunks.length,
    event,
    boot: chunks.length > 0 ? bootId : '',
    ended: ended ? 1 : 0,
    endedAt: ended ? at : null,
  }
  const made = append.isFirst ? await db.get(makeHead, values) : undefined
  const move = { ...values, known: last, floor }
  const moved = made ?? (await db.get(ADVANCES.head, move)) ?? (await db.get(ADVANCES.chunks, move))
  if (!moved) return findRefusal(db, append)
  const first = moved.last - chunks.length + 1
  if (chunks.length > 0) await db.run(insert, { run_id: runId, first, last: moved.last, bodies: encode(chunks) })
  return first
}

/** Does not update the head: the position of the stream follows from its chunks. */
function appendSync(db: Executor, { runId, fence, last, chunks }: SyncChunkAppend, bootId: string): Awaitable<number> {
  return db.run(insertNext, {
    run: runId,
    fence,
    boot: bootId,
    known: last,
    count: chunks.length,
    bodies: encode(chunks),
  })
}

/**
 * Explains an append that wrote nothing: an earlier attempt of it succeeded, the stream has ended, or another writer has
 * the stream.
 */
async function findRefusal(db: Executor, { runId, fence, last, floor, chunks }: ChunkAppend): Promise<AppendOutcome> {
  const head = await db.get(headOf, { run: runId })
  const before = last === undefined ? ANY_LAST : Math.max(last, floor)
  if (before !== ANY_LAST && head?.fence === fence && head.last === before + chunks.length) {
    // Compared by content, not by length: a process that finishes the stream of a run writes under the same fence.
    const [row] = await db.all(rowsAfter, { run: runId, after: before, limit: 1 })
    if (row?.first === before + 1 && row.bodies === encode(chunks)) return before + 1
  }
  return head && head.fence === fence && head.ended === 1 ? 'ended' : 'fenced'
}

type HeadRow = { fence: number; last: number; last_event: number; ended: number; boot_id: string }

const streamHead = ({ last, last_event, ended, boot_id }: HeadRow, bootId: string): StreamHead => ({
  last,
  lastEvent: last_event,
  ended: ended === 1,
  // A head without chunks has no boot id and nothing to lose.
  mayHaveLost: boot_id !== '' && boot_id !== bootId,
})

/**
 * Each chunk is `<event> <length>\n<body>`: bodies are JSON already and need no second escaping. A chunk of another second
 * than the one before it is `<event> <length> <second>\n<body>`.
 */
export function encode(chunks: ChunkAppend['chunks']): string {
  let text = ''
  let before: number | undefined
  for (const { event, at, body } of chunks) {
    text += `${event} ${body.length}${at === undefined || at === before ? '' : ` ${at / 1_000}`}\n${body}`
    before = at
  }
  return text
}

export function decode({ first, bodies }: { first: number; bodies: string }): StoredChunk[] {
  const chunks: StoredChunk[] = []
  let at: number | undefined
  for (let start = 0; start < bodies.length; ) {
    const line = bodies.indexOf('\n', start)
    const [event, length, second] = bodies.slice(start, line).split(' ')
    const end = line + 1 + Number(length)
    if (second) at = Number(second) * 1_000
    const body = bodies.slice(line + 1, end)
    chunks.push({ number: first + chunks.length, event: Number(event), ...defined({ at }), body })
    start = end
  }
  return chunks
}

/**
 * Chunks appended with `appendSync` are not counted in the head: take the last of those after it, or the head's own
 * number.
 */
const LAST = sql<number>`coalesce((
  select later."last" from chunks later
  where later.run_id = stream_heads.run_id and later."first" > stream_heads."last"
  order by later."first" desc limit 1
), stream_heads."last")`

const headOf = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('stream_heads')
    .select(['fence', LAST.as('last'), 'last_event', 'ended', 'boot_id'])
    .where('run_id', '=', p('run')),
)

const lockHead = statement<{ run: RunId }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('stream_heads')
      .select(['fence', LAST.as('last')])
      .where('run_id', '=', p('run')),
  ),
)

const takeHead = statement<{ run: RunId; fence: number; boot: string }>()((db, p) =>
  db
    .insertInto('stream_heads')
    .values({
      run_id: p('run'),
      fence: p('fence'),
      last: sql.lit(0),
      last_event: sql.lit(0),
      ended: sql.lit(0),
      ended_at: null,
      boot_id: p('boot'),
    })
    .onConflict((conflict) =>
      conflict
        .column('run_id')
        .doUpdateSet({ fence: sql`excluded.fence` })
        .where('stream_heads.fence', '<=', sql<number>`excluded.fence`),
    )
    .returning('fence'),
)

type HeadValues = {
  run: RunId
  fence: number
  count: number
  event: number
  ended: number
  endedAt: number | null
  boot: string
}

const makeHead = statement<HeadValues>()((db, p) =>
  db
    .insertInto('stream_heads')
    .values({
      run_id: p('run'),
      fence: p('fence'),
      last: p('count'),
      last_event: p('event'),
      ended: p('ended'),
      ended_at: p('endedAt'),
      boot_id: p('boot'),
    })
    .onConflict((conflict) => conflict.column('run_id').doNothing())
    .returning('last'),
)

type AdvanceValues = HeadValues & { known: number; floor: number }

/** Advances from the number in the head, or from the last chunk. */
const advanceFrom = (source: 'head' | 'chunks') => {
  const last = source === 'head' ? sql<number>`stream_heads."last"` : LAST
  return statement<AdvanceValues>()((db, p) => {
    const isCounted = sql<SqlBool>`not exists (select 1 from chunks as later
      where later.run_id = stream_heads.run_id and later."first" = stream_heads."last" + 1)`
    const query = db
      .updateTable('stream_heads')
      .set({
        last: sql`case when ${last} > ${p('floor')} then ${last} else ${p('floor')} end + ${p('count')}`,
        last_event: sql`case when last_event > ${p('event')} then last_event else ${p('event')} end`,
        ended: p('ended'),
        ended_at: p('endedAt'),
        boot_id: p('boot'),
      })
      .where('run_id', '=', p('run'))
      .where('fence', '=', p('fence'))
      .where(sql<SqlBool>`(cast(${p('known')} as integer) = ${sql.lit(ANY_LAST)} or ${last} = ${p('known')})`)
      .where('ended', '=', sql.lit(0))
    return (source === 'head' ? query.where(isCounted) : query).returning('last')
  })
}

/** Tried in this order: most streams have no uncounted chunks, and finding the last chunk costs three index lookups. */
const ADVANCES = { head: advanceFrom('head'), chunks: advanceFrom('chunks') }

const insert = insertInto('chunks', ['run_id', 'first', 'last', 'bodies'])

type SyncAppendValues = { run: RunId; fence: number; boot: string; known: number; count: number; bodies: string }

const insertNext = statement<SyncAppendValues>()((db, p) =>
  db
    .insertInto('chunks')
    .columns(['run_id', 'first', 'last', 'bodies'])
    .expression(
      db
        .selectFrom('stream_heads')
        .select([
          'run_id',
          sql<number>`${p('known')} + 1`.as('first'),
          sql<number>`${p('known')} + ${p('count')}`.as('last'),
          sql<string>`${p('bodies')}`.as('bodies'),
        ])
        .where('run_id', '=', p('run'))
        .where('fence', '=', p('fence'))
        .where('ended', '=', sql.lit(0))
        .where('boot_id', '=', p('boot'))
        .where(LAST, '=', p('known')),
    ),
)

/** Starts at the row that holds the next number: rows do not overlap, so no earlier row is read. */
const rowsAfter = statement<{ run: RunId; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('chunks')
    .select(['first', 'bodies'])
    .where('run_id', '=', p('run'))
    .where(
      'first',
      '>=',
      sql<number>`coalesce((
        select earlier."first" from chunks earlier
        where earlier.run_id = ${p('run')} and earlier."first" <= ${p('after')} + 1
        order by earlier."first" desc limit 1
      ), 0)`,
    )
    .where('last', '>', p('after'))
    .orderBy('first')
    .limit(p('limit')),
)

const unended = statement<{ limit: number }>()((db, p) =>
  db.selectFrom('stream_heads').select('run_id').where('ended', '=', sql.lit(0)).limit(p('limit')),
)

type PruneValues = { before: number; limit: number }

/** Selects the same streams in both statements: a stream that ends meanwhile is not older than these. */
const oldest = (db: Kysely<Tables>, p: Parameter<PruneValues>) =>
  db
    .selectFrom('stream_heads')
    .select('run_id')
    .where('ended', '=', sql.lit(1))
    .where('ended_at', '<', p('before'))
    .orderBy('ended_at')
    .orderBy('run_id')
    .limit(p('limit'))

const deleteChunks = statement<PruneValues>()((db, p) => db.deleteFrom('chunks').where('run_id', 'in', oldest(db, p)))

const deleteHeads = statement<PruneValues>()((db, p) =>
  db.deleteFrom('stream_heads').where('run_id', 'in', oldest(db, p)),
)
