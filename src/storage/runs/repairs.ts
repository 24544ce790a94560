import { type SqlBool, sql } from 'kysely'
import type { ConversationId, RunId } from '../../core/id.ts'
import type { RunStatus, StopReason } from '../../core/run.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RepairStore } from '../../ports/store.ts'
import { resetHead } from '../conversations/indexed-messages.ts'
import { placeMessage } from '../conversations/messages.ts'
import type { Database } from '../database/database.ts'
import { type Statement, statement, type Values } from '../database/statement.ts'
import { CHANGED_RUN_COLUMNS } from '../rows/run-row.ts'
import { leaseNow } from './workers.ts'

export function repairStore({ write }: Database, clock: Clock): RepairStore {
  const change = <V extends Values>(key: string, query: Statement<V, unknown>, values: V) =>
    // Safe to repeat: after the first execution its guard no longer matches.
    write({
      key,
      work: async (db) => (await db.run(query, values)) > 0,
      findCommitted: () => undefined,
      announce: true,
    })

  return {
    rewriteRun: ({ id, fence, nextSeq: seen }, { row, nextSeq }) =>
      change(id, rewrite, {
        id,
        fence,
        seen,
        nextSeq,
        status: row.status,
        waiting: row.waiting ? 1 : 0,
        stopReason: row.stopReason ?? null,
        error: row.error ? JSON.stringify(row.error) : null,
        completedAt: row.completedAt ?? null,
        expiresAt: row.expiresAt ?? null,
        deaths: row.deaths,
        isHeld: row.status === 'running' ? 1 : 0,
        isActive: row.status === 'running' || row.waiting ? 1 : 0,
        now: leaseNow(clock),
      }),

    raiseNextPosition: (id, to) => change(id, raise, { id, to }),

    insertMessage: (run, message, position) =>
      write({
        key: run.id,
        async work(db) {
          const found = await db.get(runWithFreePosition, { run: run.id, conversation: run.conversationId, position })
          if (!found) return false
          await placeMessage(db, found, { message, position })
          await db.run(resetHead, { conversation: run.conversationId })
          return true
        },
        findCommitted: () => undefined,
      }),
  }
}

/** Refused while a live worker holds the run, if the run changed, or if its conversation would have two active runs. */
const rewrite = statement<{
  id: RunId
  fence: number
  seen: number
  nextSeq: number
  status: RunStatus
  waiting: number
  stopReason: StopReason | null
  error: string | null
  completedAt: number | null
  expiresAt: number | null
  deaths: number
  isHeld: number
  isActive: number
  now: number
}>()((db, p, { leaseClock }) =>
  db
    .updateTable('runs')
    .set({
      status: p('status'),
      waiting: p('waiting'),
      stop_reason: p('stopReason'),
      error: p('error'),
      completed_at: p('completedAt'),
      expires_at: p('expiresAt'),
      deaths: p('deaths'),
      next_seq: p('nextSeq'),
      lease_owner: sql`case when cast(${p('isHeld')} as integer) = 1 then lease_owner else null end`,
    })
    .where('id', '=', p('id'))
    .where('fence', '=', p('fence'))
    .where('next_seq', '=', p('seen'))
    .where(
      sql<SqlBool>`(lease_owner is null or not exists (
        select 1 from workers where workers.id = runs.lease_owner and workers.expires_at > ${leaseClock(p('now'))}
      ))`,
    )
    .where(
      sql<SqlBool>`(cast(${p('isActive')} as integer) = 0 or not exists (
        select 1 from runs as other
        where other.conversation_id = runs.conversation_id and other.number <> runs.number
          and (other.status = 'running' or other.waiting = 1)
      ))`,
    ),
)

const raise = statement<{ id: ConversationId; to: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ next_position: p('to') })
    .where('id', '=', p('id'))
    .where('next_position', '<', p('to')),
)

/** The run, if this position of its conversation was assigned and has no message. */
const runWithFreePosition = statement<{ run: RunId; conversation: ConversationId; position: number }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(CHANGED_RUN_COLUMNS)
    .where('id', '=', p('run'))
    .where(
      sql<SqlBool>`exists (
        select 1 from conversations where id = ${p('conversation')} and next_position > ${p('position')}
      )`,
    )
    .where(
      sql<SqlBool>`not exists (
        select 1 from messages where conversation_id = ${p('conversation')} and position = ${p('position')}
      )`,
    ),
)
