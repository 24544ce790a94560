import { type SqlBool, sql } from 'kysely'
import type { RunId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { OpenedRun, RunFilter, RunStore } from '../ports/store.ts'
import { beforeOf } from './agents.ts'
import type { Database } from './database.ts'
import { runClaims } from './run-claims.ts'
import { byIdAnywhere, continueRun, openRun, recallContinued, recallOpened } from './run-intake.ts'
import { RUN_COLUMNS, runOf } from './run-row.ts'
import { listParameters, listValues, type Statement, statement } from './statement.ts'
import { readSteps } from './steps.ts'

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

    list: (organizationId, filter, { limit, before }) =>
      read(async (db) => {
        const { agentId, conversationId, statuses, waiting } = filter
        const rows = await db.all(listOf(filter), {
          organization: organizationId,
          agent: agentId ?? '',
          conversation: conversationId ?? '',
          waiting: waiting ? 1 : 0,
          limit,
          ...listValues('status', statuses ?? [], STATUSES),
          ...beforeOf(before),
        })
        return rows.map(runOf)
      }),

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

const STATUSES = 5

type ListValues = {
  organization: string
  agent: string
  conversation: string
  waiting: number
  isFirst: number
  before: string
  limit: number
  [status: `status${number}`]: string
}

/** One statement for each combination of filters: each has an index that fits. */
const lists = new Map<string, Statement<ListValues, Parameters<typeof runOf>[0]>>()

function listOf(filter: RunFilter) {
  const shape = Object.entries(filter)
    .flatMap(([name, value]) => (value === undefined ? [] : [name]))
    .sort()
    .join()
  const known = lists.get(shape)
  if (known) return known
  const fresh = listStatement(filter)
  lists.set(shape, fresh)
  return fresh
}

function listStatement({ agentId, conversationId, statuses, waiting }: RunFilter) {
  return statement<ListValues>()((db, p) => {
    let query = db
      .selectFrom('runs')
      .select(RUN_COLUMNS)
      .where('organization_id', '=', p('organization'))
      .where(
        sql<SqlBool>`(cast(${p('isFirst')} as integer) = 1 or number < (
          select last.number from runs as last
          where last.id = ${p('before')} and last.organization_id = ${p('organization')}
        ))`,
      )
    if (agentId !== undefined) query = query.where('agent_id', '=', p('agent'))
    if (conversationId !== undefined) query = query.where('conversation_id', '=', p('conversation'))
    if (statuses !== undefined) query = query.where('status', 'in', listParameters(p, 'status', STATUSES))
    if (waiting !== undefined) query = query.where('waiting', '=', p('waiting'))
    return query.orderBy('number', 'desc').limit(p('limit'))
  })
}
