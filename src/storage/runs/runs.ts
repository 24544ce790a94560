import { sql } from 'kysely'
import type { AgentId, OrganizationId, RunId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OpenedRun, RunStore } from '../../ports/store.ts'
import type { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { RUN_COLUMNS, runOf } from '../rows/run-row.ts'
import { findAskedCalls } from './asked-calls.ts'
import { runClaims } from './run-claims.ts'
import { countActiveRuns, countRunsOf } from './run-counts.ts'
import { byIdAnywhere, continueRun, findContinuedRun, findOpenedRun, openRun } from './run-intake.ts'
import { listRuns, listSteps } from './run-lists.ts'
import { findRunByFingerprint, findRunByOtid, markAnswered } from './run-requests.ts'
import { usageOfConversation } from './run-usage.ts'
import { rateStep, readStep, readSteps } from './steps.ts'

export function runStore(database: Database, clock: Clock): RunStore {
  const { read, write } = database
  return {
    ...runClaims(database, clock),

    open: (open) =>
      write<OpenedRun>({
        // By conversation, so that requests are queued in the order they arrived.
        key: open.run.conversationId,
        work: (db) => openRun(db, open),
        announce: true,
        findCommitted: (db) => findOpenedRun(db, open),
      }),

    continueAfterApproval: (request) =>
      write({
        key: request.answer.runId,
        work: (db) => continueRun(db, request),
        findCommitted: (db) => findContinuedRun(db, request),
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

    findByOtid: (organizationId, conversationId, otid) =>
      read((db) => findRunByOtid(db, { organizationId, conversationId }, otid)),

    askedAbout: (conversationId, callIds) => read((db) => findAskedCalls(db, conversationId, callIds)),

    askersOf: (organization, agent, call) =>
      read(async (db) => (await db.all(askers, { organization, agent, call })).map(runOf)),

    findByFingerprint: (conversation, fingerprint, since) =>
      read((db) => findRunByFingerprint(db, { conversation, fingerprint, since })),

    markAnswered: (runId) =>
      write({
        key: runId,
        async work(db) {
          await markAnswered(db, runId)
          return true
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }).then(() => undefined),

    listSteps: (organizationId, filter, page) => read((db) => listSteps(db, { organizationId, filter }, page)),

    getStep: (organizationId, id) => read((db) => readStep(db, organizationId, id)),

    steps: (runId) => read((db) => readSteps(db, runId)),
    usageOf: (organizationId, conversationId) => read((db) => usageOfConversation(db, organizationId, conversationId)),

    rateStep: (organizationId, id, rating) =>
      write({ key: id, work: (db) => rateStep(db, { organizationId, id }, rating) }),

    expired: (now, limit) =>
      read(async (db) => {
        const rows = await db.all(expiredRuns, { now, limit })
        return rows.map(runOf)
      }),

    countActive: () => read(countActiveRuns),
    countOf: (organizationId) => read((db) => countRunsOf(db, organizationId)),
  }
}

const byId = statement<{ organization: OrganizationId; id: RunId }>()((db, p) =>
  db.selectFrom('runs').select(RUN_COLUMNS).where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const askers = statement<{ organization: OrganizationId; agent: AgentId; call: string }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(RUN_COLUMNS)
    .where('agent_id', '=', p('agent'))
    .where(
      'id',
      'in',
      db
        .selectFrom('asked_calls')
        .select('run_id')
        .where('organization_id', '=', p('organization'))
        .where('call_id', '=', p('call')),
    )
    .orderBy('waiting', 'desc')
    .orderBy('number', 'desc')
    .limit(sql.lit(1)),
)

const expiredRuns = statement<{ now: number; limit: number }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(RUN_COLUMNS)
    .where('waiting', '=', sql.lit(1))
    .where('expires_at', '<', p('now'))
    .orderBy('expires_at')
    .limit(p('limit')),
)
