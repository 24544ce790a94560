import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Agent } from '../../core/agent.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { AgentFilter } from '../../ports/agent-store.ts'
import type { ListPage } from '../../ports/list-page.ts'
import {
  type Bounds,
  hasTags,
  inBothDirections,
  inBounds,
  isBlank,
  likePattern,
  positionsBy,
  readPage,
  type TagValues,
  tagValues,
} from '../database/list-page.ts'
import { type Executor, statement } from '../database/statement.ts'
import { agentOf } from '../rows/agent-row.ts'

type AgentSearch = { organizationId: OrganizationId; filter: AgentFilter; page: ListPage }

export async function searchAgents(
  db: Executor,
  { organizationId, filter, page }: AgentSearch,
): Promise<Agent[] | undefined> {
  const sortBy = filter.sortBy ?? 'created_at'
  return readPage(page, {
    find: (id) => db.get(POSITIONS[sortBy], { organization: organizationId, id }),
    read: (direction, bounds) =>
      db.page(LISTS[sortBy][direction], {
        ...bounds,
        ...tagValues(filter.tags, filter.allTags ? 'all' : 'any'),
        organization: organizationId,
        name: filter.name ?? '',
        text: likePattern(filter.text),
        block: filter.blockId ?? '',
        stop: filter.lastStopReason ?? '',
      }),
    objectOf: agentOf,
  })
}

export async function countAgents(db: Executor, organizationId: OrganizationId): Promise<number> {
  return Number((await db.get(count, { organization: organizationId }))?.count ?? 0)
}

type SortBy = NonNullable<AgentFilter['sortBy']>

const LAST_COMPLETION = sql<number>`coalesce(
  (select max(runs.completed_at) from runs where runs.agent_id = agents.id), 0)`

const KEYS: Record<SortBy, RawBuilder<number>> = {
  created_at: sql<number>`number`,
  updated_at: sql<number>`updated_at`,
  last_run_completion: LAST_COMPLETION,
}

type Values = Bounds &
  TagValues & { organization: OrganizationId; name: string; text: string; block: string; stop: string }

const LAST_STOP = sql<string>`(select runs.stop_reason from runs where runs.agent_id = agents.id
  and runs.completed_at is not null order by runs.number desc limit 1)`

const TAGS = sql`(select tag as value from agent_tags where agent_tags.agent_id = agents.id) as item`

const listOf = (key: RawBuilder<number>, direction: 'asc' | 'desc') =>
  statement<Values>()((db, p) =>
    db
      .selectFrom('agents')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where(inBounds(key, p))
      .where(sql<SqlBool>`(${isBlank(p('name'))} or name = ${p('name')})`)
      .where(
        sql<SqlBool>`(${isBlank(p('text'))} or lower(name) like ${p('text')} escape '\\'
          or lower(description) like ${p('text')} escape '\\')`,
      )
      .where(
        sql<SqlBool>`(${isBlank(p('block'))} or exists (select 1 from agent_blocks
          where agent_blocks.agent_id = agents.id and agent_blocks.block_id = ${p('block')}))`,
      )
      .where(sql<SqlBool>`(${isBlank(p('stop'))} or ${LAST_STOP} = ${p('stop')})`)
      .where(hasTags(p, TAGS))
      .orderBy(key, direction)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = inBothDirections(KEYS, listOf)

const POSITIONS = positionsBy('agents', KEYS)

const count = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('agents')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p('organization')),
)
