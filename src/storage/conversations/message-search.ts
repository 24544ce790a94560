import { sql } from 'kysely'
import { fuseRankings, type SearchTerm, searchableText } from '../../core/search-terms.ts'
import type { MessageWithAgent } from '../../ports/message-search-store.ts'
import { isBlank } from '../database/list-page.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Slots,
  type Statement,
  statement,
} from '../database/statement.ts'
import { MESSAGE_COLUMNS, messagesWithAgentOf } from '../rows/message-row.ts'
import { inScope, type Scope } from './message-list.ts'
import { messagesOfNumbers, type RankedSearch, type RankingDeps, rankMessages } from './ranked-search.ts'
import { type MessageFilter, matchesFilters, type SearchValues, scopeOf, searchValuesOf } from './search-filters.ts'

type MessageSearch = MessageFilter & { terms: readonly SearchTerm[] }

/** Maximum spellings to search for in messages that are not indexed yet. */
const MAX_SPELLINGS = 16
/** Maximum of these rows to read; rows that contain a word only outside the message text are dropped. */
const MAX_UNINDEXED_ROWS = 1_000

/** By rank, then newest first; without terms, the newest messages. */
export async function searchInMessages(
  db: Executor,
  search: MessageSearch,
  deps: RankingDeps,
): Promise<MessageWithAgent[]> {
  const { terms, limit } = search
  if (terms.length === 0)
    return messagesWithAgentOf(await db.pageRows(STATEMENTS.newest[scopeOf(search)], searchValuesOf(search)))
  // In this order: a message indexed between the two is found twice, and never missed.
  const recent = await searchUnindexed(db, search)
  const indexed = await searchIndexed(db, { search, as: 'whole', deps })
  if (recent.length === 0 && indexed.length === 0) return searchIndexed(db, { search, as: 'beginning', deps })
  if (recent.length === 0) return indexed
  const both = fuseRankings([recent, indexed], ({ conversationId, position }) => `${conversationId} ${position}`)
  return both.slice(0, limit).map(({ item }) => item)
}

async function searchIndexed(
  db: Executor,
  { search, as, deps }: { search: MessageSearch; as: RankedSearch['as']; deps: RankingDeps },
): Promise<MessageWithAgent[]> {
  const ranked = { values: searchValuesOf(search), scope: scopeOf(search), terms: search.terms, as }
  const numbers = await rankMessages(db, ranked, deps)
  if (numbers.length === 0) return []
  return messagesWithAgentOf(await db.pageRows(messagesOfNumbers, { numbers: JSON.stringify(numbers) }))
}

/** Searches messages that are not indexed yet; most matching terms first. */
async function searchUnindexed(db: Executor, search: MessageSearch): Promise<MessageWithAgent[]> {
  const { terms, limit } = search
  const spellings = terms.flatMap(({ plain }) => spellingsOf(plain)).slice(0, MAX_SPELLINGS)
  const values = {
    ...searchValuesOf(search),
    limit: MAX_UNINDEXED_ROWS,
    // Words contain no wildcards.
    ...listValues(
      'word',
      spellings.map((word) => `%${word}%`),
      MAX_SPELLINGS,
    ),
  }
  const rows = messagesWithAgentOf(await db.pageRows(STATEMENTS.unindexed[scopeOf(search)], values))
  const hits = rows.flatMap((message) => {
    // The query matches the whole JSON body; keep only matches in the message text.
    const text = searchableText(message.body).toLowerCase()
    const words = terms.filter(({ plain }) => text.includes(plain)).length
    return words === 0 ? [] : [{ message, words }]
  })
  return hits
    .sort((one, other) => other.words - one.words)
    .slice(0, limit)
    .map(({ message }) => message)
}

const isAscii = (text: string): boolean => !/[^ -~]/.test(text)

/** SQLite changes case for ASCII only. */
function spellingsOf(word: string): string[] {
  if (isAscii(word)) return [word]
  const [first = '', ...rest] = word
  return [...new Set([word, first.toUpperCase() + rest.join(''), word.toUpperCase()])]
}

const newestIn = (scope: Scope) =>
  statement<SearchValues>()((db, p) =>
    db
      .selectFrom('messages')
      .select([...MESSAGE_COLUMNS, 'agent_id'])
      .where(inScope(p, scope))
      .where(matchesFilters(p, 'messages'))
      .orderBy('created_at', 'desc')
      .orderBy('position', 'desc')
      .limit(p('limit'))
      .offset(p('skip')),
  )

type UnindexedSearchValues = SearchValues & Slots<'word'>

/** Reads only conversations that are not fully indexed. */
const unindexedIn = (scope: Scope) =>
  statement<UnindexedSearchValues>()((db, p, { name }) => {
    const hits = sql.join(
      listParameters(p, 'word', MAX_SPELLINGS).map(
        (word) =>
          sql`(not ${isBlank(word)} and lower(messages.body) like ${word} escape '\\')
            or (not ${isBlank(word)} and messages.body like ${word} escape '\\')`,
      ),
      sql` or `,
    )
    const join = name === 'sqlite' ? sql`cross join` : sql`join`
    const fresh = sql<{ fresh_id: string }>`(select messages.id as fresh_id
      from conversations as talks left join message_index_heads as heads on heads.conversation_id = talks.id
      ${join} messages on messages.conversation_id = talks.id and messages.position >= coalesce(heads.next_position, 0)
      where talks.next_position > coalesce(heads.next_position, 0) and talks.organization_id = ${p('organization')}
        ${scope === 'agent' ? sql`and talks.agent_id = ${p('agent')}` : sql``}
        ${scope === 'conversation' ? sql`and talks.id = ${p('conversation')}` : sql``}
        and ${inScope(p, scope)} and ${matchesFilters(p, 'messages')} and (${hits})
      order by messages.created_at desc, messages.position desc limit ${p('limit')})`
    return db
      .selectFrom(fresh.as('fresh'))
      .innerJoin('messages', (on) => on.onRef('messages.id', '=', 'fresh.fresh_id' as never))
      .select([...MESSAGE_COLUMNS, 'agent_id'])
      .orderBy('created_at', 'desc')
      .orderBy('position', 'desc')
  })

const forEachScope = <V extends SearchValues>(
  make: (scope: Scope) => Statement<V, unknown>,
): Record<Scope, Statement<V, unknown>> => ({
  all: make('all'),
  agent: make('agent'),
  conversation: make('conversation'),
})

const STATEMENTS = {
  newest: forEachScope(newestIn),
  unindexed: forEachScope(unindexedIn),
}
