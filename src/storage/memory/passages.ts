import { type SqlBool, sql } from 'kysely'
import { type Passage, searchWords } from '../../core/passage.ts'
import { fuseRankings, isUnspaced, searchTerms } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { PassageStore } from '../../ports/memory-store.ts'
import type { Database } from '../database/database.ts'
import { type Bounds, boundsOf, containing, inBounds, isBlank, placesOf } from '../database/list-page.ts'
import { type Executor, listParameters, listValues, statement } from '../database/statement.ts'
import {
  PASSAGE_COLUMNS,
  type PassageOf,
  type PassageRange,
  type PassageScope,
  passageOf,
  passagesInRange,
  rangeOf,
} from './passage-row.ts'
import { passageVectors } from './passage-vectors.ts'
import { forgetPrompts } from './stale-prompts.ts'

export function passageStore(database: Database, clock: Pick<Clock, 'soon'>): PassageStore {
  const { read, write } = database
  return {
    vectors: passageVectors(database, clock),

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
        const terms = searchTerms(query.text)
        const values = { organization: organizationId, agent: agentId ?? '', ...rangeOf(query) }
        const { newest, matching, containing: plain } = SEARCHES[agentId === undefined ? 'all agents' : 'one agent']
        // A question without a word asks for what is newest.
        if (terms.length === 0) return (await db.all(newest, values)).map(passageOf)
        const words = searchWords(query.text)
        const asked = { ...values, sqlite: anyOf(words), postgres: words.join(' | ') }
        const byWords = words.length === 0 ? [] : (await db.all(matching, asked)).map(passageOf)
        const unspaced = terms.filter(isUnspaced).slice(0, SIGNS)
        if (unspaced.length === 0) return byWords
        // The index knows words between spaces; what is written without them is looked for as it is.
        const signs = listValues(
          'sign',
          unspaced.map((term) => `%${term.plain}%`),
          SIGNS,
        )
        const bySigns = (await db.all(plain, { ...values, ...signs } as PassageRange & Signs)).map(passageOf)
        return fuseRankings([bySigns, byWords], ({ id }) => id)
          .slice(0, query.limit)
          .map(({ item }) => item)
      }),

    delete: (organizationId, agentId, id) =>
      write({
        key: agentId,
        async work(db) {
          const place = { organization: organizationId, agent: agentId, id }
          await db.run(removeVector, place)
          return (await db.run(remove, place)) > 0
        },
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

const byId = statement<PassageOf & { id: string }>()((db, p) =>
  db
    .selectFrom('passages')
    .select('number')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const remove = statement<PassageOf & { id: string }>()((db, p) =>
  db
    .deleteFrom('passages')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const removeVector = statement<PassageOf & { id: string }>()((db, p) =>
  db
    .deleteFrom('passage_vectors')
    .where('passage_number', 'in', (from) =>
      from
        .selectFrom('passages')
        .select('number')
        .where('id', '=', p('id'))
        .where('agent_id', '=', p('agent'))
        .where('organization_id', '=', p('organization')),
    ),
)

const listOf = (direction: 'asc' | 'desc') =>
  statement<Bounds & PassageOf & { text: string }>()((db, p) =>
    db
      .selectFrom('passages')
      .select(PASSAGE_COLUMNS)
      .where('agent_id', '=', p('agent'))
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .where(sql<SqlBool>`(${isBlank(p('text'))} or lower(content) like ${p('text')} escape '\\')`)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = { up: listOf('asc'), down: listOf('desc') }

const newestIn = (scope: PassageScope) =>
  statement<PassageRange>()((db, p) =>
    db
      .selectFrom('passages')
      .select(PASSAGE_COLUMNS)
      .where(passagesInRange(p, scope))
      .orderBy('number', 'desc')
      .limit(p('limit')),
  )

/** Any of the words, and the more and the rarer the better, as each database counts it. */
const matchingIn = (scope: PassageScope) =>
  statement<PassageRange & { sqlite: string; postgres: string }>()((db, p, { name }) => {
    const inAgent = db.selectFrom('passages').select(PASSAGE_COLUMNS).where(passagesInRange(p, scope))
    if (name === 'sqlite')
      return inAgent
        .innerJoin(
          sql<{
            found: number
            rank: number
          }>`(select rowid as found, bm25(passages_search) as rank from passages_search
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

/** Signs and pictures that one question may have. */
const SIGNS = 8
type Signs = { [sign: `sign${number}`]: string }

const containingIn = (scope: PassageScope) =>
  statement<PassageRange & Signs>()((db, p) => {
    const hits = listParameters<Signs>(p as never, 'sign', SIGNS).map(
      (sign) => sql`(case when ${isBlank(sign)} then 0 when lower(content) like ${sign} then 1 else 0 end)`,
    )
    const count = sql`(${sql.join(hits, sql` + `)})`
    return db
      .selectFrom('passages')
      .select(PASSAGE_COLUMNS)
      .where(passagesInRange(p, scope))
      .where(sql<SqlBool>`${count} > 0`)
      .orderBy(sql`${count} desc`)
      .orderBy('number', 'desc')
      .limit(p('limit'))
  })

const searchesOf = (scope: PassageScope) => ({
  ...{ newest: newestIn(scope), matching: matchingIn(scope), containing: containingIn(scope) },
})
const SEARCHES = { 'one agent': searchesOf('one agent'), 'all agents': searchesOf('all agents') }
