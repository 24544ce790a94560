import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Conversation } from '../../core/agent.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { ListPage } from '../../ports/memory-store.ts'
import type { ConversationFilter } from '../../ports/store.ts'
import {
  type Bounds,
  bothWays,
  boundsOf,
  containing,
  inBounds,
  isBlank,
  placesBy,
  placesOf,
} from '../database/list-page.ts'
import { type Executor, statement } from '../database/statement.ts'
import { conversationOf } from './conversation-row.ts'

type Search = { organizationId: OrganizationId; filter: ConversationFilter; page: ListPage }

export async function searchConversations(
  db: Executor,
  { organizationId, filter, page }: Search,
): Promise<Conversation[] | undefined> {
  const sortBy = filter.sortBy ?? 'created_at'
  const places = await placesOf(page, async (id) => {
    const row = await db.get(PLACES[sortBy], { organization: organizationId, id })
    return row && { key: Number(row.key), number: row.number }
  })
  if (!places) return undefined
  const { bounds, read, reversed } = boundsOf(page, places)
  const rows = await db.all(LISTS[sortBy][read], {
    ...bounds,
    organization: organizationId,
    agent: filter.agentId ?? '',
    text: containing(filter.text),
    archived: filter.archived ?? 'never',
  })
  const conversations = rows.map(conversationOf)
  return reversed ? conversations.reverse() : conversations
}

type SortBy = NonNullable<ConversationFilter['sortBy']>

const KEYS: Record<SortBy, RawBuilder<number>> = {
  created_at: sql<number>`number`,
  last_message_at: sql<number>`coalesce(last_message_at, 0)`,
  last_run_completion: sql<number>`coalesce(
    (select max(runs.completed_at) from runs where runs.conversation_id = conversations.id), 0)`,
}

type Values = Bounds & { organization: string; agent: string; text: string; archived: string }

const listOf = (key: RawBuilder<number>, direction: 'asc' | 'desc') =>
  statement<Values>()((db, p) =>
    db
      .selectFrom('conversations')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where('is_default', '=', sql.lit(0))
      .where('deleted_at', 'is', null)
      .where(sql<SqlBool>`details not like '%"hidden":true%'`)
      .where(inBounds(key, p))
      .where(sql<SqlBool>`(${isBlank(p('agent'))} or agent_id = ${p('agent')})`)
      .where(sql<SqlBool>`(${isBlank(p('text'))} or lower(summary) like ${p('text')} escape '\\')`)
      .where(
        sql<SqlBool>`(cast(${p('archived')} as text) = 'too'
          or (cast(${p('archived')} as text) = 'only') = (archived_at is not null))`,
      )
      .orderBy(key, direction)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = bothWays(KEYS, listOf)

const PLACES = placesBy('conversations', KEYS)
