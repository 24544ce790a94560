import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import { fuseRankings, type SearchTerm, searchableText } from '../../core/search-terms.ts'
import type { MessageSearchQuery, MessageWithAgent } from '../../ports/message-search-store.ts'
import { isBlank } from '../database/list-page.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Parameter,
  type Slots,
  type Statement,
  statement,
} from '../database/statement.ts'
import { MESSAGE_COLUMNS, messagesWithAgentOf } from '../rows/message-row.ts'
import { scopeToken } from './indexed-messages.ts'
import { inScope, type Scope } from './message-list.ts'

type MessageSearch = Omit<MessageSearchQuery, 'text'> & {
  organizationId: OrganizationId
  agentId?: AgentId | undefined
  terms: readonly SearchTerm[]
}

const ROLES = 4
/** Maximum spellings to search for in messages that are not indexed yet. */
const MAX_SPELLINGS = 16
/** Maximum of these rows to read; rows that contain a word only outside the message text are dropped. */
const MAX_UNINDEXED_ROWS = 1_000

/** By rank, then newest first; without terms, the newest messages. */
export async function searchInMessages(db: Executor, search: MessageSearch): Promise<MessageWithAgent[]> {
  const { terms, limit } = search
  if (terms.length === 0)
    return messagesWithAgentOf(await db.pageRows(STATEMENTS.newest[scopeOf(search)], searchValuesOf(search)))
  // In this order: a message indexed between the two is found twice, and never missed.
  const recent = await searchUnindexed(db, search)
  const indexed = await searchIndexed(db, search, 'whole')
  if (recent.length === 0 && indexed.length === 0) return searchIndexed(db, search, 'beginning')
  if (recent.length === 0) return indexed
  const both = fuseRankings([recent, indexed], ({ conversationId, position }) => `${conversationId} ${position}`)
  return both.slice(0, limit).map(({ item }) => item)
}

/** `beginning` also matches words by prefix. */
async function searchIndexed(
  db: Executor,
  search: MessageSearch,
  as: 'whole' | 'beginning',
): Promise<MessageWithAgent[]> {
  const values = {
    ...searchValuesOf(search),
    sqlite: sqliteQuery(search, as),
    postgres: postgresQuery(search.terms, as),
  }
  return messagesWithAgentOf(await db.pageRows(STATEMENTS.indexed[scopeOf(search)], values))
}

function sqliteQuery({ terms, organizationId, agentId, conversationId }: MessageSearch, as: 'whole' | 'beginning') {
  const star = as === 'beginning' ? '*' : ''
  const words = terms.map(({ tokens }) => `"${tokens.join(' ')}"${star}`).join(' OR ')
  return `scope : "${scopeToken(conversationId ?? agentId ?? organizationId)}" AND content : (${words})`
}

const postgresQuery = (terms: readonly SearchTerm[], as: 'whole' | 'beginning'): string =>
  terms
    .map(({ tokens }) => {
      const last = tokens.length - 1
      const star = (index: number) => (as === 'beginning' && index === last ? ':*' : '')
      return `(${tokens.map((token, index) => `'${token}'${star(index)}`).join(' <-> ')})`
    })
    .join(' | ')

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

export const scopeOf = ({ agentId, conversationId }: Pick<MessageSearch, 'agentId' | 'conversationId'>): Scope =>
  conversationId ? 'conversation' : agentId ? 'agent' : 'all'

/** An empty agent or conversation matches all. */
export type SearchValues = Slots<'role'> & {
  organization: OrganizationId
  agent: string
  conversation: string
  skip: number
  from: number
  to: number
  anyRole: number
  limit: number
}

export function searchValuesOf(search: Omit<MessageSearch, 'terms'>): SearchValues {
  const { organizationId, agentId, conversationId, roles = [], from, to, limit, skip } = search
  return {
    organization: organizationId,
    agent: agentId ?? '',
    conversation: conversationId ?? '',
    limit,
    skip: skip ?? 0,
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
    anyRole: roles.length === 0 ? 1 : 0,
    ...listValues('role', roles, ROLES),
  }
}

export const matchesFilters = <V extends SearchValues>(p: Parameter<V>, table: 'messages' | 'message_index') => {
  const name = sql.table(table)
  const roles = sql.join(listParameters(p, 'role', ROLES))
  return sql<SqlBool>`${name}.created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)
    and (cast(${p('anyRole')} as integer) = 1 or ${name}.role in (${roles}))`
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

type IndexedSearchValues = SearchValues & { sqlite: string; postgres: string }

/** Ranks rows of the index first, and reads messages only for the best of them. */
const indexedIn = (scope: Scope) =>
  statement<IndexedSearchValues>()((db, p, { name }) => {
    const query = sql`cast(${p('postgres')} as tsquery)`
    const found =
      name === 'sqlite'
        ? sql`from (select rowid as found, bm25(message_words, 0.0, 1.0) as rank from message_words
            where message_words match ${p('sqlite')}) as words
            cross join message_index on message_index.number = words.found where`
        : sql`from message_index where message_index.search @@ ${query} and`
    const rank = name === 'sqlite' ? sql`words.rank` : sql`-ts_rank(message_index.search, ${query})`
    const best = sql<{
      hit_conversation: string
      hit_position: number
      hit_rank: number
    }>`(select message_index.conversation_id as hit_conversation, message_index.position as hit_position,
      ${rank} as hit_rank ${found} ${inScope(p, scope, 'message_index')} and ${matchesFilters(p, 'message_index')}
      order by hit_rank, message_index.created_at desc, message_index.position desc
      limit ${p('limit')} offset ${p('skip')})`
    return db
      .selectFrom(best.as('hits'))
      .innerJoin('messages', (join) =>
        join
          .onRef('messages.conversation_id', '=', 'hits.hit_conversation' as never)
          .onRef('messages.position', '=', 'hits.hit_position' as never),
      )
      .select([...MESSAGE_COLUMNS, 'agent_id'])
      .orderBy('hits.hit_rank')
      .orderBy('created_at', 'desc')
      .orderBy('position', 'desc')
  })

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
  indexed: forEachScope(indexedIn),
  unindexed: forEachScope(unindexedIn),
}
