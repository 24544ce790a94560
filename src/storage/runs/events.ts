import { type Kysely, sql } from 'kysely'
import type { LoggedEvent } from '../../core/event.ts'
import type { RunId } from '../../core/id.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import type { RunPhase } from '../../core/run.ts'
import type { Append, AppendResult, EventLog } from '../../ports/store.ts'
import type { Database } from '../database/database.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Parameter,
  type Slots,
  statement,
} from '../database/statement.ts'
import { CHANGED_RUN_COLUMNS, type ChangedRun, numberOfRun } from '../rows/run-row.ts'
import type { Tables } from '../rows/tables.ts'
import { writeChanges } from './changes.ts'
import { insertEvents } from './event-rows.ts'
import { newRunCache, type RunCache } from './run-cache.ts'

export function eventLog({ read, write }: Database): EventLog {
  const cache = newRunCache()
  return {
    append(append) {
      const releases = releasesRun(append)
      return write({
        key: append.runId,
        async work(db) {
          const appended =
            (append.isRetry && (await findAppended(db, append))) || (await appendEvents(db, append, cache))
          if (releases) cache.forget(append.runId)
          return appended
        },
        findCommitted: (db) => findAppended(db, append),
        announce: append.writer.type === 'guest' || releases,
      })
    },
    read: (runId, after) => read((db) => readEvents(db, runId, after)),
    first: (runId) =>
      read(async (db) => {
        const row = await db.get(firstEvent, { run: runId })
        return row && eventOf(row).event
      }),
  }
}

/** This append ends or suspends the run; subscribers in other processes may be waiting for that. */
const releasesRun = ({ facts, intents }: Append): boolean => facts.some(releasesLease) || intents.some(releasesLease)

const releasesLease = ({ changes }: Append['facts'][number]): boolean =>
  changes.some((change) => change.type === 'change-run' && change.change.releaseLease === true)

/** The first statement takes the right to write; all later ones rely on it. */
export async function appendEvents(db: Executor, append: Append, cache?: RunCache): Promise<AppendResult> {
  const { facts, intents, seen } = append
  const entries = intents.length === 0 ? facts : facts.length === 0 ? intents : [...facts, ...intents]

  const undisturbed = await takeIfUnmoved(db, append, { count: entries.length, cache })
  if (undisturbed) {
    const news = await writeEntries(db, undisturbed, { entries, from: seen, commitId: append.commitId })
    return { type: 'appended', news, intentsKept: true }
  }

  // A guest's intents are all or nothing: the first writer wins.
  if (append.writer.type === 'guest' && intents.length > 0) return { type: 'refused' }
  const moved = await takeAnyway(db, append, facts.length)
  if (!moved) return { type: 'refused' }
  const from = moved.next_seq - facts.length
  const foreign = await db.all(eventsBetween, { run: append.runId, from: seen, to: from })
  const own = await writeEntries(db, moved, { entries: facts, from, commitId: append.commitId })
  return { type: 'appended', news: [...foreign.map(eventOf), ...own], intentsKept: intents.length === 0 }
}

/** Writes the events of one commit, numbered from `from`, and the rows that follow from them. */
export async function writeEntries(
  db: Executor,
  run: ChangedRun,
  { entries, from, commitId }: { entries: readonly ProjectedEvent[]; from: number; commitId: string },
): Promise<LoggedEvent[]> {
  const news = await insertEvents(db, run, { entries, from, commitId })
  await writeChanges(db, run, entries)
  return news
}

export async function readEvents(db: Executor, runId: RunId, after: number): Promise<LoggedEvent[]> {
  const rows = await db.all(eventsAfter, { run: runId, after })
  return rows.map(eventOf)
}

type EventRow = { seq: number; at: number; body: string }

const eventOf = ({ seq, at, body }: EventRow): LoggedEvent => ({ seq, at, event: JSON.parse(body) })

type TakeOptions = { count: number; cache: RunCache | undefined }

async function takeIfUnmoved(db: Executor, { runId, writer, seen }: Append, { count, cache }: TakeOptions) {
  if (writer.type === 'guest') return db.get(takeAsGuestAt, { id: runId, seen, count, ...phaseValues(writer.phases) })
  const values = { id: runId, fence: writer.fence, seen, count }
  const run = cache?.get(runId)
  if (run) return (await db.run(advanceAsHolderAt, values)) === 1 ? run : undefined
  const taken = await db.get(takeAsHolderAt, values)
  if (taken) cache?.keep(taken)
  return taken
}

function takeAnyway(db: Executor, { runId, writer }: Append, count: number) {
  if (writer.type === 'holder') return db.get(takeAsHolder, { id: runId, fence: writer.fence, count })
  return db.get(takeAsGuest, { id: runId, count, ...phaseValues(writer.phases) })
}

/** The row lock waits until a commit in progress is decided. */
async function findAppended(db: Executor, append: Append): Promise<AppendResult | undefined> {
  const { runId, commitId, seen, facts, intents } = append
  await db.get(lockRun, { id: runId })
  const written = await db.get(countOfCommit, { run: runId, commitId })
  if (!written || written.count === 0) return undefined
  const news = await readEvents(db, runId, seen - 1)
  const intentsKept = Number(written.count) === facts.length + intents.length
  return { type: 'appended', news, intentsKept }
}

type HolderTake = { id: RunId; fence: number; count: number }

/** The right to write, for the holder of the run's lease. */
const heldBy = (db: Kysely<Tables>, p: Parameter<HolderTake>) =>
  db
    .updateTable('runs')
    .set({ next_seq: sql`next_seq + ${p('count')}` })
    .where('id', '=', p('id'))
    .where('fence', '=', p('fence'))
    .where('status', '=', sql.lit('running' as const))

const advanceAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>
  heldBy(db, p).where('next_seq', '=', p('seen')),
)

const takeAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>
  heldBy(db, p).where('next_seq', '=', p('seen')).returning(CHANGED_RUN_COLUMNS),
)

const takeAsHolder = statement<HolderTake>()((db, p) => heldBy(db, p).returning([...CHANGED_RUN_COLUMNS, 'next_seq']))

const PHASES = 6
type GuestTake = Slots<'phase'> & { id: RunId; count: number }

const phaseValues = (phases: readonly RunPhase[]) => listValues('phase', phases, PHASES)

const PHASE = sql<string>`case when waiting = 1 then 'waiting' else status end`

const takeAsGuestAt = statement<GuestTake & { seen: number }>()((db, p) =>
  db
    .updateTable('runs')
    .set({ next_seq: sql`next_seq + ${p('count')}` })
    .where('id', '=', p('id'))
    .where(PHASE, 'in', listParameters(p, 'phase', PHASES))
    .where('next_seq', '=', p('seen'))
    .returning(CHANGED_RUN_COLUMNS),
)

const takeAsGuest = statement<GuestTake>()((db, p) =>
  db
    .updateTable('runs')
    .set({ next_seq: sql`next_seq + ${p('count')}` })
    .where('id', '=', p('id'))
    .where(PHASE, 'in', listParameters(p, 'phase', PHASES))
    .returning([...CHANGED_RUN_COLUMNS, 'next_seq']),
)

const firstEvent = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('events')
    .select(['seq', 'at', 'body'])
    .where('run_number', '=', numberOfRun(p('run')))
    .where('seq', '=', sql.lit(1)),
)

const eventsAfter = statement<{ run: RunId; after: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select(['seq', 'at', 'body'])
    .where('run_number', '=', numberOfRun(p('run')))
    .where('seq', '>', p('after'))
    .orderBy('seq'),
)

const eventsBetween = statement<{ run: RunId; from: number; to: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select(['seq', 'at', 'body'])
    .where('run_number', '=', numberOfRun(p('run')))
    .where('seq', '>=', p('from'))
    .where('seq', '<', p('to'))
    .orderBy('seq'),
)

const countOfCommit = statement<{ run: RunId; commitId: string }>()((db, p) =>
  db
    .selectFrom('events')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('run_number', '=', numberOfRun(p('run')))
    .where('commit_id', '=', p('commitId')),
)

export const lockRun = statement<{ id: RunId }>()((db, p, { lock }) =>
  lock(db.selectFrom('runs').select('id').where('id', '=', p('id'))),
)
