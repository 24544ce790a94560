import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId, PassageId } from '../core/id.ts'
import { type Passage, type PassageQuery, searchWords } from '../core/passage.ts'
import type { PassageStore } from '../ports/memory-store.ts'
import { forgetPrompts } from './agent-prompts.ts'
import type { Database } from './database.ts'
import { type Bounds, boundsOf, containing, inBounds, isBlank, listing, placesOf, TAG_SLOTS } from './list-page.ts'
import { type Executor, listParameters, listValues, type Parameter, statement } from './statement.ts'

export function passageStore({ read, write }: Database): PassageStore {
  return {
    insert: (passage) =>
      write({
        key: passage.agentId,
        async work(db) {
          await insertPassage(db, passage)
          return true
        },
        recall: async (db) => ((await db.get(byId, idOf(passage))) ? true : undefined),
      }).then(() => undefined),

    list: (organizationId, agentId, page) =>
      read(async (db) => {
        const place = { organization: organizationId, agent: agentId }
        const places = await placesOf(page, async (id) => {
          const row = await db.get(byId, { ...place, id })
          return row && { key: row.number, number: row.number }
        })
        if (!places) return undefined
        const { bounds, read: direction, reversed } = boundsOf(page, places)
        const rows = await db.all(LISTS[direction], { ...bounds, ...place, text: containing(page.text) })
        const passages = rows.map(passageOf)
        return reversed ? passages.reverse() : passages
      }),

    search: (organizationId, agentId, query) =>
      read(async (db) => {
        const words = searchWords(query.text)
        const values = { organization: organizationId, agent: agentId, ...rangeOf(query) }
        // A question without a word asks for what is newest.
        if (words.length === 0) return (await db.all(newest, values)).map(passageOf)
        return (await db.all(matching, { ...values, sqlite: anyOf(words), postgres: words.join(' | ') })).map(passageOf)
      }),

    delete: (organizationId, agentId, id) =>
      write({
        key: agentId,
        work: async (db) => (await db.run(remove, { organization: organizationId, agent: agentId, id })) > 0,
      }),
  }
}

export async function insertPassage(db: Executor, passage: Passage): Promise<void> {
  const { id, organizationId, agentId, text, tags, createdAt } = passage
  const values = { id, organization: organizationId, agent: agentId, content: text, tags: JSON.stringify(tags) }
  await db.run(insert, { ...values, at: createdAt })
  await forgetPrompts(db, agentId)
}

/** FTS5: each word in quotes, so that none is an operator. */
const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(' OR ')

function rangeOf({ tags = [], tagMatch = 'any', from, to, limit }: PassageQuery) {
  const wanted = [...new Set(tags)]
  return {
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
    limit,
    needed: wanted.length === 0 ? 0 : tagMatch === 'all' ? wanted.length : 1,
    ...(listValues('tag', wanted.map(listing), TAG_SLOTS) as Record<`tag${number}`, string>),
  }
}

type Row = {
  id: PassageId
  organization_id: OrganizationId
  agent_id: AgentId
  content: string
  tags: string
  created_at: number
}

const COLUMNS = ['id', 'organization_id', 'agent_id', 'content', 'tags', 'created_at'] as const

const passageOf = (row: Row): Passage => ({
  id: row.id,
  organizationId: row.organization_id,
  agentId: row.agent_id,
  text: row.content,
  tags: JSON.parse(row.tags),
  createdAt: row.created_at,
})

const idOf = ({ organizationId, agentId, id }: Passage) => ({ organization: organizationId, agent: agentId, id })

const insert = statement<{
  id: string
  organization: string
  agent: string
  content: string
  tags: string
  at: number
}>()((db, p) =>
  db.insertInto('passages').values({
    id: p('id'),
    organization_id: p('organization'),
    agent_id: p('agent'),
    content: p('content'),
    tags: p('tags'),
    created_at: p('at'),
  }),
)

type Of = { organization: string; agent: string }

const byId = statement<Of & { id: string }>()((db, p) =>
  db
    .selectFrom('passages')
    .select('number')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const remove = statement<Of & { id: string }>()((db, p) =>
  db
    .deleteFrom('passages')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const listOf = (direction: 'asc' | 'desc') =>
  statement<Bounds & Of & { text: string }>()((db, p) =>
    db
      .selectFrom('passages')
      .select(COLUMNS)
      .where('agent_id', '=', p('agent'))
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .where(sql<SqlBool>`(${isBlank(p('text'))} or lower(content) like ${p('text')} escape '\\')`)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = { up: listOf('asc'), down: listOf('desc') }

type Range = Of & { from: number; to: number; needed: number; limit: number; [tag: `tag${number}`]: string }

/** Of this agent, in this time, with these tags. */
function inRange<V extends Range>(p: Parameter<V>) {
  const tags = listParameters<V>(p, 'tag', TAG_SLOTS).map(
    (tag) => sql`(case when passages.tags like cast(${tag} as text) escape '\\' then 1 else 0 end)`,
  )
  return sql<SqlBool>`passages.agent_id = ${p('agent')} and passages.organization_id = ${p('organization')}
    and passages.created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)
    and (cast(${p('needed')} as integer) = 0 or (${sql.join(tags, sql` + `)}) >= cast(${p('needed')} as integer))`
}

const newest = statement<Range>()((db, p) =>
  db.selectFrom('passages').select(COLUMNS).where(inRange(p)).orderBy('number', 'desc').limit(p('limit')),
)

/** Any of the words, and the more and the rarer the better, as each database counts it. */
const matching = statement<Range & { sqlite: string; postgres: string }>()((db, p, { name }) => {
  const inAgent = db.selectFrom('passages').select(COLUMNS).where(inRange(p))
  if (name === 'sqlite')
    return inAgent
      .innerJoin(
        sql<{ found: number; rank: number }>`(select rowid as found, bm25(passages_search) as rank from passages_search
          where passages_search match ${p('sqlite')})`.as('hits'),
        (join) => join.onRef(sql`hits.found`, '=', 'passages.number'),
      )
      .orderBy(sql`hits.rank`)
      .orderBy('number', 'desc')
      .limit(p('limit'))
  const question = sql`to_tsquery('simple', ${p('postgres')})`
  return inAgent
    .where(sql<SqlBool>`search @@ ${question}`)
    .orderBy(sql`ts_rank_cd(search, ${question}) desc`)
    .orderBy('number', 'desc')
    .limit(p('limit'))
})
