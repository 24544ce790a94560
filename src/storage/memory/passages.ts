import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId, PassageId } from '../../core/id.ts'
import { type Passage, searchWords } from '../../core/passage.ts'
import { fuseRankings, isUnspaced, searchTerms } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { PassageStore } from '../../ports/passage-store.ts'
import type { Database } from '../database/database.ts'
import { markTargetDeleted } from '../database/imported-targets.ts'
import { type Bounds, inBounds, isBlank, likePattern, readPage } from '../database/list-page.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, listParameters, listValues, type Slots, statement } from '../database/statement.ts'
import { PASSAGE } from '../rows/passage-row.ts'
import { passageVectors, vectorsOfPassages } from './passage-vectors.ts'
import { type PassageRange, type PassageScope, passagesInRange, rangeOf } from './passages-in-range.ts'
import { invalidatePrompts } from './stale-prompts.ts'

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
        findCommitted: async (db) => ((await db.get(byId, idOf(passage))) ? true : undefined),
      }).then(() => undefined),

    list: (organizationId, agentId, page) =>
      read((db) => {
        const owner = { organization: organizationId, agent: agentId }
        return readPage(page, {
          find: (id) => db.get(byId, { ...owner, id: id as PassageId }),
          read: (direction, bounds) => db.page(LISTS[direction], { ...bounds, ...owner, text: likePattern(page.text) }),
          objectOf: PASSAGE.objectOf,
        })
      }),

    search: (organizationId, agentId, query) =>
      read(async (db) => {
        const terms = searchTerms(query.text)
        const values = { organization: organizationId, agent: agentId ?? '', ...rangeOf(query) }
        const { newest, matching, containing: plain } = SEARCHES[agentId === undefined ? 'all agents' : 'one agent']
        // A query without words returns the newest passages.
        if (terms.length === 0) return (await db.page(newest, values)).map(PASSAGE.objectOf)
        const words = searchWords(query.text)
        const wordValues = { ...values, sqlite: matchAnyOf(words), postgres: words.join(' | ') }
        const byWords = words.length === 0 ? [] : (await db.page(matching, wordValues)).map(PASSAGE.objectOf)
        const unspaced = terms.filter(isUnspaced).slice(0, MAX_UNSPACED_TERMS)
        if (unspaced.length === 0) return byWords
        // The index splits words at spaces; text in scripts without spaces is matched as a substring.
        const signs = listValues(
          'sign',
          unspaced.map((term) => `%${term.plain}%`),
          MAX_UNSPACED_TERMS,
        )
        const bySigns = (await db.page(plain, { ...values, ...signs })).map(PASSAGE.objectOf)
        return fuseRankings([bySigns, byWords], ({ id }) => id)
          .slice(0, query.limit)
          .map(({ item }) => item)
      }),

    vectorsOf: (ids) => read((db) => vectorsOfPassages(db, ids)),

    delete: (organizationId, agentId, id) =>
      write({
        key: agentId,
        async work(db) {
          const key = { organization: organizationId, agent: agentId, id }
          await db.run(removeVector, key)
          await markTargetDeleted(db, id)
          return (await db.run(remove, key)) > 0
        },
      }),
  }
}

export async function insertPassage(db: Executor, passage: Passage): Promise<void> {
  await db.run(insert, PASSAGE.rowOf(passage))
  await invalidatePrompts(db, passage.agentId)
}

/** FTS5: quoted, so that no word is read as an operator. */
const matchAnyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(' OR ')

const idOf = ({ organizationId, agentId, id }: Passage) => ({ organization: organizationId, agent: agentId, id })

type PassageOwner = { organization: OrganizationId; agent: AgentId }
type Key = PassageOwner & { id: PassageId }

const insert = insertInto('passages', PASSAGE.columns)

const byId = statement<Key>()((db, p) =>
  db
    .selectFrom('passages')
    .select('number')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const remove = statement<Key>()((db, p) =>
  db
    .deleteFrom('passages')
    .where('id', '=', p('id'))
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization')),
)

const removeVector = statement<Key>()((db, p) =>
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
  statement<Bounds & PassageOwner & { text: string }>()((db, p) =>
    db
      .selectFrom('passages')
      .select(PASSAGE.columns)
      .where('agent_id', '=', p('agent'))
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .where(sql<SqlBool>`(${isBlank(p('text'))} or lower(content) like ${p('text')} escape '\\')`)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = { up: listOf('asc'), down: listOf('desc') }

const newestIn = (scope: PassageScope) =>
  statement<PassageRange>()((db, p, dialect) =>
    db
      .selectFrom('passages')
      .select(PASSAGE.columns)
      .where(passagesInRange(p, scope, dialect))
      .orderBy('number', 'desc')
      .limit(p('limit')),
  )

/** Matches any of the words, ranked by the database. */
const matchingIn = (scope: PassageScope) =>
  statement<PassageRange & { sqlite: string; postgres: string }>()((db, p, dialect) => {
    const inAgent = db
      .selectFrom('passages')
      .select(PASSAGE.columns)
      .where(passagesInRange(p, scope, dialect))
    if (dialect.name === 'sqlite')
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
    const tsquery = sql`to_tsquery('simple', ${p('postgres')})`
    return inAgent
      .where(sql<SqlBool>`search @@ ${tsquery}`)
      .orderBy(sql`ts_rank_cd(search, ${tsquery}) desc`)
      .orderBy('number', 'desc')
      .limit(p('limit'))
  })

/** Maximum terms in scripts without spaces, and emoji, per query. */
const MAX_UNSPACED_TERMS = 8

const containingIn = (scope: PassageScope) =>
  statement<PassageRange & Slots<'sign'>>()((db, p, dialect) => {
    const hits = listParameters(p, 'sign', MAX_UNSPACED_TERMS).map(
      (sign) => sql`(case when ${isBlank(sign)} then 0 when lower(content) like ${sign} then 1 else 0 end)`,
    )
    const count = sql`(${sql.join(hits, sql` + `)})`
    return db
      .selectFrom('passages')
      .select(PASSAGE.columns)
      .where(passagesInRange(p, scope, dialect))
      .where(sql<SqlBool>`${count} > 0`)
      .orderBy(sql`${count} desc`)
      .orderBy('number', 'desc')
      .limit(p('limit'))
  })

const searchesOf = (scope: PassageScope) => ({
  newest: newestIn(scope),
  matching: matchingIn(scope),
  containing: containingIn(scope),
})
const SEARCHES = { 'one agent': searchesOf('one agent'), 'all agents': searchesOf('all agents') }
