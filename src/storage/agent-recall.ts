import { type SqlBool, sql } from 'kysely'
import type { RecallStore } from '../ports/memory-store.ts'
import type { Database } from './database.ts'
import { containing, isBlank } from './list-page.ts'
import { MESSAGE_COLUMNS, messagesOf } from './messages.ts'
import { listParameters, listValues, statement } from './statement.ts'

/** How many words one question may have. */
const WORDS = 16
const ROLES = 4

export function recallStore({ read }: Database): RecallStore {
  return {
    contextIds: (organizationId, agentId) =>
      read(async (db) => {
        const home = await db.get(defaultOf, { organization: organizationId, agent: agentId })
        if (!home) return undefined
        const rows = await db.all(idsFrom, { conversation: home.id, start: home.context_start })
        return { conversationId: home.id, messageIds: rows.map(({ id }) => id) }
      }),

    search: (organizationId, agentId, { words, roles = [], from, to, limit }) =>
      read(async (db) =>
        messagesOf(
          await db.rows(matching, {
            organization: organizationId,
            agent: agentId,
            from: from ?? 0,
            to: to ?? Number.MAX_SAFE_INTEGER,
            anyRole: roles.length === 0 ? 1 : 0,
            noWords: words.length === 0 ? 1 : 0,
            limit,
            ...listValues('role', roles, ROLES),
            ...listValues('word', words.slice(0, WORDS).map(containing), WORDS),
          } as Search),
        ),
      ),
  }
}

const defaultOf = statement<{ organization: string; agent: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select(['id', 'context_start'])
    .where('agent_id', '=', p('agent'))
    .where('is_default', '=', sql.lit(1))
    .where('organization_id', '=', p('organization')),
)

const idsFrom = statement<{ conversation: string; start: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('conversation_id', '=', p('conversation'))
    .where('position', '>=', p('start'))
    .orderBy('position'),
)

type Search = {
  organization: string
  agent: string
  from: number
  to: number
  anyRole: number
  noWords: number
  limit: number
  [item: `role${number}` | `word${number}`]: string
}

/** The messages with most of the words first, the newest of them first. */
const matching = statement<Search>()((db, p) => {
  const hits = sql.join(
    listParameters(p, 'word', WORDS).map(
      (word) => sql`(case when ${isBlank(word)} then 0 when lower(body) like ${word} escape '\\' then 1 else 0 end)`,
    ),
    sql` + `,
  )
  return db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where(sql<SqlBool>`conversation_id in (select id from conversations where agent_id = ${p('agent')})`)
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)`)
    .where(
      sql<SqlBool>`(cast(${p('anyRole')} as integer) = 1 or role in (${sql.join(listParameters(p, 'role', ROLES))}))`,
    )
    .where(sql<SqlBool>`(cast(${p('noWords')} as integer) = 1 or (${hits}) > 0)`)
    .orderBy(sql`(${hits}) desc`)
    .orderBy('created_at', 'desc')
    .orderBy('position', 'desc')
    .limit(p('limit'))
})
