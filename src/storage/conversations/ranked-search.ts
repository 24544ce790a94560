import { sql } from 'kysely'
import type { SearchTerm } from '../../core/search-terms.ts'
import type { Dialect } from '../database/dialect.ts'
import { type Executor, type Statement, statement } from '../database/statement.ts'
import { MESSAGE_COLUMNS } from '../rows/message-row.ts'
import { scopeToken } from './indexed-messages.ts'
import { inIndexScope, type Scope } from './message-list.ts'
import { matchesFilters, type SearchValues } from './search-filters.ts'

export type RankedSearch = {
  values: SearchValues
  scope: Scope
  terms: readonly SearchTerm[]
  /** `beginning` also matches words by prefix. */
  as: 'whole' | 'beginning'
}

/** `pause` lets other work of this process run. */
export type RankingDeps = { name: Dialect['name']; pause(): Promise<void> }

/**
 * Messages that are compared for one term: the newest that have it. A word that most messages have is thereby as fast as a
 * rare one, and a term with this many matches says little about which of them was meant.
 */
const CANDIDATES = 1_000

/**
 * Rows that one statement reads. A statement of SQLite runs on the main thread, so it takes a few milliseconds, and other work
 * runs between two; only words that are frequent and never together take longer, 30 ms in a million messages. PostgreSQL chooses
 * its plan by how frequent the word is.
 */
const SLICE_ROWS: Record<Dialect['name'], number> = { sqlite: 250, postgres: CANDIDATES }

type Hit = { number: number; at: number; position: number; score: number }

/**
 * Numbers of the best messages of the index, best first: rare words count more than frequent ones, and of equals the newest
 * is first. Both databases find the same.
 */
export async function rankMessages(
  db: Executor,
  search: RankedSearch,
  { name, pause }: RankingDeps,
): Promise<number[]> {
  const { terms, values, as } = search
  const most = Math.max(CANDIDATES, values.skip + values.limit)
  // A prefix gathers the rows of all its words for each statement, so it is searched with one.
  const rows = as === 'whole' ? SLICE_ROWS[name] : most
  const hits = new Map<number, Hit>()
  const frequent: SearchTerm[] = []
  let whole = 0
  let hasRare = false
  for (const term of terms) {
    const found = await newestWith(db, { search, asked: [term], most, rows, pause })
    if (found.length === 0) continue
    const weight = Math.log(1 + most / found.length)
    whole += weight
    if (found.length >= most) frequent.push(term)
    else hasRare = true
    for (const candidate of found) {
      const known = hits.get(candidate.number)
      if (known) known.score += weight
      else hits.set(candidate.number, { ...candidate, score: weight })
    }
  }
  // Where every word is frequent, older messages may have all of them. A rare word finds these by itself.
  if (!hasRare && frequent.length > 1 && as === 'whole') {
    const found = await newestWith(db, { search, asked: frequent, most, rows, pause })
    for (const candidate of found) hits.set(candidate.number, { ...candidate, score: whole })
  }
  const best = [...hits.values()].sort(
    (one, other) => other.score - one.score || other.at - one.at || other.position - one.position,
  )
  return best.slice(values.skip, values.skip + values.limit).map(({ number }) => number)
}

type NewestSearch = {
  search: RankedSearch
  /** Terms that a message must have, all of them. */
  asked: readonly SearchTerm[]
  most: number
  /** Rows of one statement. */
  rows: number
  pause: RankingDeps['pause']
}

/** Up to `most` messages of the index that have these terms, newest first, slice by slice. */
async function newestWith(
  db: Executor,
  { search, asked, most, rows, pause }: NewestSearch,
): Promise<Omit<Hit, 'score'>[]> {
  const { values, scope, as } = search
  const found: Omit<Hit, 'score'>[] = []
  const queries = { sqlite: sqliteQuery(asked, search), postgres: postgresQuery(asked, as) }
  for (let below = Number.MAX_SAFE_INTEGER; found.length < most; ) {
    const page = await db.rows(SLICE_OF[scope], { ...values, ...queries, below, rows })
    for (const [number, at, position, fits] of page)
      if (Number(fits) === 1) found.push({ number: Number(number), at: Number(at), position: Number(position) })
    if (page.length < rows) break
    below = Number(page.at(-1)![0])
    await pause()
  }
  return found.slice(0, most)
}

function sqliteQuery(terms: readonly SearchTerm[], { values, as }: RankedSearch): string {
  const star = as === 'beginning' ? '*' : ''
  const words = terms.map(({ tokens }) => `"${tokens.join(' ')}"${star}`).join(' AND ')
  const scope = values.conversation || values.agent || values.organization
  return `scope : "${scopeToken(scope)}" AND content : (${words})`
}

const postgresQuery = (terms: readonly SearchTerm[], as: RankedSearch['as']): string =>
  terms
    .map(({ tokens }) => {
      const last = tokens.length - 1
      const star = (index: number) => (as === 'beginning' && index === last ? ':*' : '')
      return `(${tokens.map((token, index) => `'${token}'${star(index)}`).join(' <-> ')})`
    })
    .join(' & ')

type SliceValues = SearchValues & { sqlite: string; postgres: string; below: number; rows: number }

/** Rows with a term, by number from high to low; `fits` says which of them the query means. */
const sliceIn = (scope: Scope) =>
  statement<SliceValues>({ isPlannedEachTime: true })((db, p, { name }) => {
    const fits = sql`${inIndexScope(p, scope)} and ${matchesFilters(p, 'message_index')}`
    const columns = sql`message_index.number as number, message_index.created_at as at, message_index.position as position`
    const rows =
      name === 'sqlite'
        ? // SQLite stops after so many matches, whether or not they fit: that bounds the statement.
          sql<SliceRow>`(select ${columns}, case when ${fits} then 1 else 0 end as fits
            from (select rowid as found from message_words where message_words match ${p('sqlite')}
              and rowid < ${p('below')} order by rowid desc limit ${p('rows')} + 0) as words
            cross join message_index on message_index.number = words.found)`
        : sql<SliceRow>`(select ${columns}, 1 as fits from message_index
            where message_index.search @@ cast(${p('postgres')} as tsquery) and ${fits}
            and message_index.number < ${p('below')}
            order by message_index.number desc limit ${p('rows')})`
    return db
      .selectFrom(rows.as('slice'))
      .select(['slice.number', 'slice.at', 'slice.position', 'slice.fits'])
      .orderBy('slice.number', 'desc')
  })

type SliceRow = { number: number; at: number; position: number; fits: number }

const SLICE_OF: Record<Scope, Statement<SliceValues, unknown>> = {
  all: sliceIn('all'),
  agent: sliceIn('agent'),
  conversation: sliceIn('conversation'),
}

/** The messages of these numbers of the index, in the order of the JSON list. */
export const messagesOfNumbers = statement<{ numbers: string }>()((db, p, { name }) => {
  const listed =
    name === 'sqlite'
      ? sql`json_each(${p('numbers')}) as item`
      : sql`jsonb_array_elements_text(cast(${p('numbers')} as jsonb)) with ordinality as item(value, key)`
  const hits = sql<{
    hit_conversation: string
    hit_position: number
    hit_rank: number
  }>`(select message_index.conversation_id as hit_conversation, message_index.position as hit_position, item.key as hit_rank
    from ${listed} join message_index on message_index.number = cast(item.value as bigint))`
  return db
    .selectFrom(hits.as('hits'))
    .innerJoin('messages', (join) =>
      join
        .onRef('messages.conversation_id', '=', 'hits.hit_conversation' as never)
        .onRef('messages.position', '=', 'hits.hit_position' as never),
    )
    .select([...MESSAGE_COLUMNS, 'agent_id'])
    .orderBy('hits.hit_rank')
})
