import { sql } from 'kysely'
import type { AgentId } from '../../core/id.ts'
import type { IdleSession, SessionStore } from '../../ports/session-store.ts'
import type { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { agentOf } from '../rows/agent-row.ts'

export function sessionStore({ read }: Database): SessionStore {
  return {
    policies: (after, limit) =>
      read(async (db) => {
        const rows = await db.all(withPolicy, { after, limit })
        return rows.map((row) => ({ number: row.number, agent: agentOf(row) }))
      }),
    idle: (agentId, since, limit) =>
      read(async (db) => {
        const rows = await db.all(idleOf, { agent: agentId, since, limit })
        return rows.map((row): IdleSession => ({ ...row, lastActivity: Number(row.lastActivity) }))
      }),
  }
}

const withPolicy = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('session_expiry', 'is not', null)
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)

const LAST_ACTIVITY = sql<number>`coalesce(newest.completed_at, newest.created_at)`

/** Without a context there is no session: it has ended, or it has not begun. */
const idleOf = statement<{ agent: AgentId; since: number; limit: number }>()((db, p) =>
  db
    .selectFrom('conversations')
    .innerJoin('runs as newest', (join) =>
      join.on(sql<boolean>`newest.number = (select max(number) from runs where conversation_id = conversations.id)`),
    )
    .select(['conversations.id as conversationId', 'newest.id as lastRun', LAST_ACTIVITY.as('lastActivity')])
    .where('conversations.agent_id', '=', p('agent'))
    .where('conversations.deleted_at', 'is', null)
    .where(sql<boolean>`conversations.context_start < conversations.next_position`)
    .where(LAST_ACTIVITY, '<=', p('since'))
    .where(
      sql<boolean>`not exists (select 1 from runs as active where active.conversation_id = conversations.id
        and (active.status = 'running' or active.waiting = 1))`,
    )
    .where(
      sql<boolean>`not exists (select 1 from runs as queued where queued.conversation_id = conversations.id
        and queued.status = 'created')`,
    )
    .orderBy('conversations.number')
    .limit(p('limit')),
)
