import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Conversation } from '../../core/agent.ts'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { ConversationFilter } from '../../ports/store.ts'
import {
  type Bounds,
  inBothDirections,
  inBounds,
  isBlank,
  likePattern,
  positionsBy,
  readPage,
} from '../database/list-page.ts'
import { type Executor, statement } from '../database/statement.ts'
import { conversationOf } from '../rows/conversation-row.ts'

type ConversationSearch = { organizationId: OrganizationId; filter: ConversationFilter; page: ListPage }

export async function searchConversations(
  db: Executor,
  { organizationId, filter, page }: ConversationSearch,
): Promise<Conversation[] | undefined> {
  const sortBy = filter.sortBy ?? 'created_at'
  return readPage(page, {
    find: (id) => db.get(POSITIONS[sortBy], { organization: organizationId, id }),
    read: (direction, bounds) =>
      db.page(LISTS[sortBy][direction], {
        ...bounds,
        organization: organizationId,
        agent: filter.agentId ?? '',
        text: likePattern(filter.text),
        archived: filter.archived ?? 'never',
      }),
    objectOf: conversationOf,
  })
}

type SortBy = NonNullable<ConversationFilter['sortBy']>

const KEYS: Record<SortBy, RawBuilder<number>> = {
  created_at: sql<number>`number`,
  last_message_at: sql<number>`coalesce(last_message_at, 0)`,
  last_run_completion: sql<number>`coalesce(
    (select max(runs.completed_at) from runs where runs.conversation_id = conversations.id), 0)`,
}

type Values = Bounds & { organization: OrganizationId; agent: string; text: string; archived: string }

const listOf = (key: RawBuilder<number>, direction: 'asc' | 'desc') =>
  statement<Values>()((db, p) =>
    db
      .selectFrom('conversations')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where('is_default', '=', sql.lit(0))
      .where('deleted_at', 'is', null)
      .where(sql<SqlBool>`coalesce(hidden, 0) = 0`)
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

const LISTS = inBothDirections(KEYS, listOf)

const POSITIONS = positionsBy('conversations', KEYS)

type OfAgent = { organizationId: OrganizationId; agentId: AgentId; page: ListPage }

export const lastActiveConversations = (
  db: Executor,
  { organizationId: organization, agentId: agent, page }: OfAgent,
): Promise<Conversation[] | undefined> =>
  readPage(page, {
    find: (id) => db.get(ACTIVE_POSITION.activity, { organization, id }),
    read: (direction, bounds) => db.page(ACTIVE.activity[direction], { ...bounds, organization, agent }),
    objectOf: conversationOf,
  })

const ACTIVITY = { activity: sql<number>`coalesce(last_message_at, created_at)` }

const ACTIVE = inBothDirections(ACTIVITY, (key, direction) =>
  statement<Bounds & { organization: OrganizationId; agent: AgentId }>()((db, p) =>
    db
      .selectFrom('conversations')
      .selectAll()
      .where('agent_id', '=', p('agent'))
      .where('organization_id', '=', p('organization'))
      .where('deleted_at', 'is', null)
      .where(inBounds(key, p))
      .orderBy(key, direction)
      .orderBy('number', direction)
      .limit(p('limit')),
  ),
)

const ACTIVE_POSITION = positionsBy('conversations', ACTIVITY)
