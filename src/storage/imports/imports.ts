import { sql } from 'kysely'
import type { ImportId, OrganizationId, WorkerId } from '../../core/id.ts'
import type { ImportObject, ImportOrigin, ImportProgress, ImportState } from '../../core/import.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ImportLease, ImportStore } from '../../ports/import-store.ts'
import { clearList } from '../conversations/conversations.ts'
import type { Database } from '../database/database.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { IMPORT, IMPORT_OBJECT } from '../rows/import-row.ts'
import { knownObjects } from './known-objects.ts'
import { placeObjects } from './place.ts'
import { setImportedView, setStart } from './view.ts'

export function importStore(database: Database, clock: Clock): ImportStore {
  const { read, write } = database
  return {
    open: (record, sealedKey) =>
      write({
        key: record.id,
        async work(db) {
          const { organizationId } = record
          const source = sourceText(record.origin)
          const earlier = await db.get(bySource, { organization: organizationId, source })
          if (!earlier) {
            const row = { ...IMPORT.rowOf(record), source, sealed_key: sealedKey ?? null, runner: null, fence: 0 }
            await db.run(insert, row)
            return record
          }
          const before = IMPORT.objectOf(earlier)
          if (before.state === 'running') return before
          const { failure: _, finishedAt: __, ...rest } = before
          const { options, progress, startedAt, updatedAt } = record
          const again = {
            ...rest,
            options,
            progress,
            startedAt,
            updatedAt,
            state: 'running' as const,
            passes: before.passes + 1,
          }
          const row = { ...IMPORT.rowOf(again), sealed_key: sealedKey ?? null, fence: earlier.fence + 1 }
          await db.run(restart, row)
          return again
        },
        findCommitted: async (db) => {
          const row = await db.get(byId.plain, { organization: record.organizationId, id: record.id })
          return row && IMPORT.objectOf(row)
        },
      }),

    get: (organization, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization, id })
        return row && IMPORT.objectOf(row)
      }),

    list: (organization) => read(async (db) => (await db.all(newestFirst, { organization })).map(IMPORT.objectOf)),

    async claim(workerId) {
      const now = Math.floor(clock.monotonic())
      // Asked every second, so it takes no write unless there is something to do.
      if (!(await read((db) => db.get(waiting, { now })))) return undefined
      return write({
        key: '',
        async work(db) {
          const row = await db.get(unattended, { now })
          if (!row) return undefined
          const fence = row.fence + 1
          await db.run(setRunner, { number: row.number, runner: workerId, fence })
          const lease: ImportLease = { record: IMPORT.objectOf(row), number: row.number, fence }
          return row.sealed_key === null ? lease : { ...lease, sealedKey: row.sealed_key }
        },
        // An unknown outcome: the claim is found and repeated with a higher fence.
        findCommitted: () => undefined,
      })
    },

    forgetFailures: ({ number }) =>
      write({
        key: '',
        work: async (db) => void (await db.run(removeFailed, { import: number })),
        findCommitted: () => undefined,
      }),

    known: (lease, kind, ids, parent = '') => read((db) => knownObjects(db, { lease, kind, ids, parent })),

    place: (lease, placement, progress) =>
      write({
        key: lease.record.id,
        async work(db) {
          if (!(await holds(db, lease, progress, clock.now()))) return false
          await placeObjects(db, lease.number, placement)
          return true
        },
      }),

    note: (lease, progress) =>
      write({
        key: lease.record.id,
        work: (db) => holds(db, lease, progress, clock.now()),
        findCommitted: () => undefined,
      }),

    setView: ({ record }, conversationId, inView) =>
      write({
        key: conversationId,
        work: async (db) =>
          setImportedView(db, { organization: record.organizationId, conversation: conversationId, inView }),
        findCommitted: () => undefined,
      }),

    setStart: ({ record }, conversationId, { start, listStart }) =>
      write({
        key: conversationId,
        work: async (db) => {
          await db.run(setStart, { organization: record.organizationId, conversation: conversationId, at: start })
          if (listStart !== undefined) await clearList(db, conversationId, listStart)
        },
        findCommitted: () => undefined,
      }),

    finish: (lease, { state, progress, failure }) =>
      write({
        key: lease.record.id,
        work: async (db) => {
          const at = clock.now()
          const { number, fence } = lease
          const end = { number, fence, state, progress: JSON.stringify(progress), failure: failure ?? null, at }
          await db.run(setEnd, end)
        },
        findCommitted: () => undefined,
      }),

    stop: (organization, id, at) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization, id })
          if (!row) return undefined
          const before = IMPORT.objectOf(row)
          if (before.state !== 'running') return before
          await db.run(setStopped, { number: row.number, fence: row.fence + 1, at })
          return { ...before, state: 'stopped' as const, updatedAt: at, finishedAt: at }
        },
        findCommitted: () => undefined,
      }),

    counts: (organization, id) =>
      read(async (db) =>
        (await db.all(countsOf, { organization, id })).map(({ kind, outcome, remapped, count }) => ({
          kind,
          outcome,
          remapped: Number(remapped),
          count: Number(count),
        })),
      ),

    remarks: (organization, id, limit) =>
      read(async (db) => (await db.all(remarksOf, { organization, id, limit })).map(objectOf)),

    kept: (organization, id, { kind, after, limit }) =>
      read(async (db) => (await db.page(keptOf, { organization, id, kind, after, limit })).map(IMPORT_OBJECT.objectOf)),
  }
}

const sourceText = (origin: ImportOrigin): string => (origin.type === 'server' ? origin.url : `file:${origin.path}`)

const objectOf = (row: Omit<Parameters<typeof IMPORT_OBJECT.objectOf>[0], 'body'>): ImportObject =>
  IMPORT_OBJECT.objectOf({ ...row, body: null })

/** Checks the fence and writes the progress. */
async function holds(db: Executor, lease: ImportLease, progress: ImportProgress, at: number): Promise<boolean> {
  const { number, fence } = lease
  return (await db.run(setProgress, { number, fence, progress: JSON.stringify(progress), at })) === 1
}

const insert = insertInto('imports', [...IMPORT.columns, 'source', 'sealed_key', 'runner', 'fence'])

const byId = rowById('imports')

const bySource = statement<{ organization: OrganizationId; source: string }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('imports')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where('source', '=', p('source')),
  ),
)

type Restart = {
  id: ImportId
  options: string
  progress: string
  passes: number
  sealed_key: string | null
  fence: number
  started_at: number
  updated_at: number
}

const restart = statement<Restart>()((db, p) =>
  db
    .updateTable('imports')
    .set({
      options: p('options'),
      progress: p('progress'),
      passes: p('passes'),
      sealed_key: p('sealed_key'),
      fence: p('fence'),
      started_at: p('started_at'),
      updated_at: p('updated_at'),
      state: 'running',
      failure: null,
      finished_at: null,
      runner: null,
    })
    .where('id', '=', p('id')),
)

const newestFirst = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .orderBy('started_at', 'desc')
    .orderBy('number', 'desc'),
)

/** Running imports whose worker is dead. */
const unattendedIn = (isLocked: boolean) =>
  statement<{ now: number }>()((db, p, { leaseClock, lockOrSkip }) => {
    const found = db
      .selectFrom('imports')
      .selectAll()
      .where('state', '=', sql.lit('running' as const))
      .where(
        sql<boolean>`(runner is null or not exists (
          select 1 from workers where workers.id = imports.runner and workers.expires_at > ${leaseClock(p('now'))}))`,
      )
      .orderBy('number')
      .limit(sql.lit(1))
    return isLocked ? lockOrSkip(found) : found
  })

const waiting = unattendedIn(false)
const unattended = unattendedIn(true)

const setRunner = statement<{ number: number; runner: WorkerId; fence: number }>()((db, p) =>
  db
    .updateTable('imports')
    .set({ runner: p('runner'), fence: p('fence') })
    .where('number', '=', p('number')),
)

const removeFailed = statement<{ import: number }>()((db, p) =>
  db.deleteFrom('import_objects').where('import_number', '=', p('import')).where('outcome', '=', 'failed'),
)

type Held = { number: number; fence: number }

const setProgress = statement<Held & { progress: string; at: number }>()((db, p) =>
  db
    .updateTable('imports')
    .set({ progress: p('progress'), updated_at: p('at') })
    .where('number', '=', p('number'))
    .where('fence', '=', p('fence'))
    .where('state', '=', 'running'),
)

const setEnd = statement<Held & { state: ImportState; progress: string; failure: string | null; at: number }>()(
  (db, p) =>
    db
      .updateTable('imports')
      .set({
        state: p('state'),
        progress: p('progress'),
        failure: p('failure'),
        updated_at: p('at'),
        finished_at: p('at'),
        runner: null,
        sealed_key: null,
      })
      .where('number', '=', p('number'))
      .where('fence', '=', p('fence'))
      .where('state', '=', 'running'),
)

const setStopped = statement<Held & { at: number }>()((db, p) =>
  db
    .updateTable('imports')
    .set({
      state: 'stopped',
      fence: p('fence'),
      updated_at: p('at'),
      finished_at: p('at'),
      runner: null,
      sealed_key: null,
    })
    .where('number', '=', p('number')),
)

type Owned = { organization: OrganizationId; id: ImportId }

const countsOf = statement<Owned>()((db, p) =>
  db
    .selectFrom('import_objects')
    .innerJoin('imports', 'imports.number', 'import_objects.import_number')
    .select(['kind', 'outcome'])
    .select((from) => from.fn.countAll<number>().as('count'))
    .select(
      sql<number>`coalesce(sum(case when outcome = 'imported' and target_id <> source_id
      and target_id not like '% %' and kind <> 'conversation' then 1 else 0 end), 0)`.as('remapped'),
    )
    .where('imports.id', '=', p('id'))
    .where('imports.organization_id', '=', p('organization'))
    .groupBy(['kind', 'outcome']),
)

const REMARK_COLUMNS = [
  'kind',
  'parent',
  'source_id',
  'outcome',
  'target_id',
  'owner_id',
  'reason',
  'read_up_to',
] as const

const remarksOf = statement<Owned & { limit: number }>()((db, p) =>
  db
    .selectFrom('import_objects')
    .innerJoin('imports', 'imports.number', 'import_objects.import_number')
    .select(REMARK_COLUMNS)
    .where('imports.id', '=', p('id'))
    .where('imports.organization_id', '=', p('organization'))
    .where((where) => where.or([where('outcome', '<>', sql.lit('imported' as const)), where('reason', 'is not', null)]))
    .orderBy(sql`case outcome when 'failed' then 0 when 'imported' then 1 when 'left-out' then 2 else 3 end`)
    .orderBy('kind')
    .orderBy('source_id')
    .limit(p('limit')),
)

const keptOf = statement<Owned & { kind: ImportObject['kind']; after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('import_objects')
    .innerJoin('imports', 'imports.number', 'import_objects.import_number')
    .select([...REMARK_COLUMNS, 'body'])
    .where('imports.id', '=', p('id'))
    .where('imports.organization_id', '=', p('organization'))
    .where('kind', '=', p('kind'))
    .where('outcome', '=', sql.lit('kept' as const))
    .where('source_id', '>', p('after'))
    .orderBy('source_id')
    .limit(p('limit')),
)
