import { type SqlBool, sql } from 'kysely'
import type { OrganizationId } from '../core/id.ts'
import type { IdStore, NamedById } from '../ports/id-store.ts'
import type { Database } from './database/database.ts'
import { type Statement, statement } from './database/statement.ts'

type Search = { organization: OrganizationId; pattern: string; limit: number }

/** The text after the prefix is hexadecimal, so no character of it is a wildcard; the prefix `mcp_server` has one, which is harmless. */
export const idStore = ({ read }: Pick<Database, 'read'>): IdStore => ({
  beginningWith: (organizationId, { kind, start, limit }) =>
    read(async (db) => {
      const found = await db.all(SEARCHES[kind], { organization: organizationId, pattern: `${start}%`, limit })
      return found.map(({ id }) => id)
    }),
})

const search = (table: 'agents' | 'runs' | 'blocks' | 'passages' | 'tools' | 'mcp_servers' | 'schedules') =>
  statement<Search>()((db, p) =>
    db
      .selectFrom(table)
      .select('id')
      .where(sql<SqlBool>`id like ${p('pattern')}`)
      .where('organization_id', '=', p('organization'))
      .orderBy('id')
      .limit(p('limit')),
  )

const conversations = statement<Search>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('id')
    .where(sql<SqlBool>`id like ${p('pattern')}`)
    .where('organization_id', '=', p('organization'))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(p('limit')),
)

const SEARCHES: Record<NamedById, Statement<Search, { id: string }>> = {
  agent: search('agents'),
  conv: conversations,
  run: search('runs'),
  block: search('blocks'),
  passage: search('passages'),
  tool: search('tools'),
  mcp_server: search('mcp_servers'),
  schedule: search('schedules'),
}
