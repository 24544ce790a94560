import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { MessageWithAgent } from '../../ports/message-search-store.ts'
import { type Executor, type Parameter, type Statement, statement } from '../database/statement.ts'
import { MESSAGE_COLUMNS, messagesWithAgentOf } from '../rows/message-row.ts'
import { isNotCleared } from './messages.ts'

type MessageListPage = ListPage & { conversationId?: ConversationId }

/** Messages of all conversations in order of time; ties are ordered by conversation and position. */
export async function listMessages(
  db: Executor,
  organizationId: OrganizationId,
  page: MessageListPage,
): Promise<MessageWithAgent[] | undefined> {
  const { limit, order, after, before, conversationId } = page
  const scopeValues = { organization: organizationId, agent: '', conversation: conversationId ?? '' }
  const scope = conversationId ? 'conversation' : 'all'
  for (const id of [after, before])
    if (id !== undefined && !(await db.get(CURSORS[scope], { ...scopeValues, id: id as MessageId }))) return undefined
  const [newer, older] = order === 'asc' ? [after, before] : [before, after]
  // With only `before`, the page is the messages directly before that cursor.
  const isReversed = before !== undefined && after === undefined
  const isUp = (order === 'asc') !== isReversed
  const values = { ...scopeValues, newer: newer ?? '', older: older ?? '', limit }
  const list = listStatement({ scope, newer: newer !== undefined, older: older !== undefined, isUp })
  const found = messagesWithAgentOf(await db.pageRows(list, values))
  return isReversed ? found.reverse() : found
}

type ScopeValues = { organization: OrganizationId; agent: string; conversation: string }

/** One statement per scope: an optional condition would keep the database from using an index. */
export type Scope = 'all' | 'agent' | 'conversation'

const CONVERSATIONS = {
  all: () => sql``,
  agent: <V extends ScopeValues>(p: Parameter<V>) => sql`and conversations.agent_id = ${p('agent')}`,
  conversation: <V extends ScopeValues>(p: Parameter<V>) => sql`and conversations.id = ${p('conversation')}
    and (cast(${p('agent')} as text) = '' or conversations.agent_id = ${p('agent')})`,
}

/** Excludes copies in forks while their original exists. */
const withoutCopies = (table: RawBuilder<unknown>) => sql`and (${table}.copy_of is null
  or not exists (select 1 from messages as original join conversations as home on home.id = original.conversation_id
    where original.id = ${table}.copy_of and home.deleted_at is null))`

const TABLES = { messages: sql`messages`, message_index: sql`message_index` }

/** Messages within a scope: every message of one conversation; across conversations, each message once. */
export const inScope = <V extends ScopeValues>(
  p: Parameter<V>,
  scope: Scope,
  table: keyof typeof TABLES = 'messages',
) => sql<SqlBool>`
  ${TABLES[table]}.organization_id = ${p('organization')}
  and ${TABLES[table]}.conversation_id in (select conversations.id from conversations
    where conversations.organization_id = ${p('organization')} and conversations.deleted_at is null
    ${CONVERSATIONS[scope](p)})
  and ${isShownIn(scope, table)}`

/** The same for a few rows of the index: their conversations are looked up one by one. */
export const inIndexScope = <V extends ScopeValues>(p: Parameter<V>, scope: Scope) => sql<SqlBool>`
  message_index.organization_id = ${p('organization')}
  and exists (select 1 from conversations where conversations.id = message_index.conversation_id
    and conversations.organization_id = ${p('organization')} and conversations.deleted_at is null
    ${CONVERSATIONS[scope](p)})
  and ${isShownIn(scope, 'message_index')}`

const isShownIn = (scope: Scope, table: keyof typeof TABLES) => sql<SqlBool>`${isNotCleared(table)}
  ${scope === 'conversation' ? sql`` : withoutCopies(TABLES[table])}`

const cursorIn = (scope: Scope) =>
  statement<ScopeValues & { id: MessageId }>()((db, p) =>
    db
      .selectFrom('messages')
      .select('id')
      .where(inScope(p, scope))
      .where(sql<SqlBool>`(id = ${p('id')} or copy_of = ${p('id')})`)
      .limit(sql.lit(1)),
  )

const CURSORS = { all: cursorIn('all'), conversation: cursorIn('conversation') }

type Values = ScopeValues & { newer: string; older: string; limit: number }
type ListShape = { scope: Scope; newer: boolean; older: boolean; isUp: boolean }

const known = new Map<string, Statement<Values, unknown>>()

/** One statement for each combination of cursors. */
function listStatement(shape: ListShape): Statement<Values, unknown> {
  const name = JSON.stringify(shape)
  const found = known.get(name)
  if (found) return found
  const fresh = statement<Values>()((db, p) => {
    const direction = shape.isUp ? 'asc' : 'desc'
    let query = db
      .selectFrom('messages')
      .select([...MESSAGE_COLUMNS, 'agent_id'])
      .where(inScope(p, shape.scope))
    if (shape.newer) query = query.where(beyond(p, 'newer'))
    if (shape.older) query = query.where(beyond(p, 'older'))
    return query
      .orderBy('created_at', direction)
      .orderBy('conversation_id', direction)
      .orderBy('position', direction)
      .limit(p('limit'))
  })
  known.set(name, fresh)
  return fresh
}

const SIGNS = { newer: sql`>`, older: sql`<` }

const beyond = (p: Parameter<Values>, side: keyof typeof SIGNS) => sql<SqlBool>`exists (select 1 from messages as seen
  where (seen.id = ${p(side)} or seen.copy_of = ${p(side)})
  and (cast(${p('conversation')} as text) = '' or seen.conversation_id = ${p('conversation')})
  and (cast(${p('conversation')} as text) <> '' or seen.copy_of is null)
  and (messages.created_at, messages.conversation_id, messages.position)
    ${SIGNS[side]} (seen.created_at, seen.conversation_id, seen.position))`
