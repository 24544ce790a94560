import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Agent } from '../../core/agent.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { AgentFilter, ListPage } from '../../ports/memory-store.ts'
import {
  type Bounds,
  bothWays,
  boundsOf,
  containing,
  inBounds,
  isBlank,
  placesBy,
  placesOf,
  TAG_SLOTS,
} from '../database/list-page.ts'
import { type Executor, listParameters, listValues, statement } from '../database/statement.ts'
import { agentOf } from './agent-row.ts'

type Search = { organizationId: OrganizationId; filter: AgentFilter; page: ListPage }

export async function searchAgents(
  db: Executor,
  { organizationId, filter, page }: Search,
): Promise<Agent[] | undefined> {
  const sortBy = filter.sortBy ?? 'created_at'
  const places = await placesOf(page, async (id) => {
    const row = await db.get(PLACES[sortBy], { organization: organizationId, id })
    return row && { key: Number(row.key), number: row.number }
  })
  if (!places) return undefined
  const { bounds, read, reversed } = boundsOf(page, places)
  const tags = [...new Set(filter.tags ?? [])]
  const rows = await db.all(LISTS[sortBy][read], {
    ...bounds,
    organization: organizationId,
    name: filter.name ?? '',
    text: containing(filter.text),
    block: filter.blockId ?? '',
    stop: filter.lastStopReason ?? '',
    needed: tags.length === 0 ? 0 : filter.allTags ? tags.length : 1,
    ...(listValues('tag', tags, TAG_SLOTS) as Record<`tag${number}`, string>),
  })
  const agents = rows.map(agentOf)
  return reversed ? agents.reverse() : agents
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

type Values = Bounds & {
  organization: string
  name: string
  text: string
  block: string
  stop: string
  needed: number
  [tag: `tag${number}`]: string
}

const LAST_STOP = sql<string>`(select runs.stop_reason from runs where runs.agent_id = agents.id
  and runs.completed_at is not null order by runs.number desc limit 1)`

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
          or lower(settings) like ${p('text')} escape '\\')`,
      )
      .where(
        sql<SqlBool>`(${isBlank(p('block'))} or exists (select 1 from agent_blocks
          where agent_blocks.agent_id = agents.id and agent_blocks.block_id = ${p('block')}))`,
      )
      .where(sql<SqlBool>`(${isBlank(p('stop'))} or ${LAST_STOP} = ${p('stop')})`)
      .where(
        sql<SqlBool>`(cast(${p('needed')} as integer) = 0 or (select count(*) from agent_tags
          where agent_tags.agent_id = agents.id
          and agent_tags.tag in (${sql.join(listParameters(p, 'tag', TAG_SLOTS))})) >= cast(${p('needed')} as integer))`,
      )
      .orderBy(key, direction)
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const LISTS = bothWays(KEYS, listOf)

const PLACES = placesBy('agents', KEYS)

const count = statement<{ organization: string }>()((db, p) =>
  db
    .selectFrom('agents')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p('organization')),
)
