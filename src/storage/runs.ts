import { sql } from 'kysely'
import type { RunId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { OpenedRun, RunStore } from '../ports/store.ts'
import type { Database } from './database.ts'
import { runClaims } from './run-claims.ts'
import { byIdAnywhere, continueRun, openRun, recallContinued, recallOpened } from './run-intake.ts'
import { listRuns, listSteps } from './run-lists.ts'
import { markAnswered, runOfOtid } from './run-requests.ts'
import { RUN_COLUMNS, runOf } from './run-row.ts'
import { listParameters, listValues, statement } from './statement.ts'
import { readStep, readSteps } from './steps.ts'

export function runStore(database: Database, clock: Clock): RunStore {
  const { read, write } = database
  return {
    ...runClaims(database, clock),

    open: (open) =>
      write<OpenedRun>({
        // By conversation, so that what was sent first is first in the queue.
        key: open.run.conversationId,
        work: (db) => openRun(db, open),
        announce: true,
        // Steering leaves no run to be found by, and must not be repeated on a guess.
        ...(open.policy === 'steer'
          ? {}
          : {
              recall: (db) => recallOpened(db, open),
            }),
      }),

    continueAfterApproval: (request) =>
      write({
        key: request.answer.runId,
        work: (db) => continueRun(db, request),
        recall: (db) => recallContinued(db, request),
        announce: true,
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { organization: organizationId, id })
        return row && runOf(row)
      }),

    getAnywhere: (id) =>
      read(async (db) => {
        const row = await db.get(byIdAnywhere, { id })
        return row && runOf(row)
      }),

    list: (organizationId, filter, page) => read((db) => listRuns(db, { organizationId, filter }, page)),

    ofOtid: (organizationId, conversationId, otid) =>
      read((db) => runOfOtid(db, { organizationId, conversationId }, otid)),

    markAnswered: (runId) =>
      write({
        key: runId,
        async work(db) {
          await markAnswered(db, runId)
          return true
        },
        // Doing it again does no harm.
        recall: () => undefined,
      }).then(() => undefined),

    listSteps: (organizationId, filter, page) => read((db) => listSteps(db, { organizationId, filter }, page)),

    getStep: (organizationId, id) => read((db) => readStep(db, organizationId, id)),

    steps: (runId) => read((db) => readSteps(db, runId)),

    expired: (now, limit) =>
      read(async (db) => {
        const rows = await db.all(lapsed, { now, limit })
        return rows.map(runOf)
      }),

    nextSeqs: (ids) =>
      read(async (db) => {
        const found = new Map<RunId, number>()
        for (let start = 0; start < ids.length; start += BATCH) {
          const batch = ids.slice(start, start + BATCH)
          const rows = await db.all(nextSeqs, listValues('id', batch, BATCH) as Batch)
          for (const row of rows) found.set(row.id, row.next_seq)
        }
        return found
      }),
  }
}

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('runs').select(RUN_COLUMNS).where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const lapsed = statement<{ now: number; limit: number }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(RUN_COLUMNS)
    .where('waiting', '=', sql.lit(1))
    .where('expires_at', '<', p('now'))
    .orderBy('expires_at')
    .limit(p('limit')),
)

const BATCH = 32
type Batch = { [id: `id${number}`]: string }

const nextSeqs = statement<Batch>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['id', 'next_seq'])
    .where('id', 'in', listParameters(p, 'id', BATCH)),
)
