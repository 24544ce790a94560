import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId, PassageId } from '../../core/id.ts'
import type { Passage, PassageQuery } from '../../core/passage.ts'
import { listing, TAG_SLOTS } from '../database/list-page.ts'
import { type Executor, listParameters, listValues, type Parameter, statement } from '../database/statement.ts'

export type PassageRow = {
  id: PassageId
  organization_id: OrganizationId
  agent_id: AgentId
  content: string
  tags: string
  created_at: number
}

export const PASSAGE_COLUMNS = ['id', 'organization_id', 'agent_id', 'content', 'tags', 'created_at'] as const

export const passageOf = (row: PassageRow): Passage => ({
  id: row.id,
  organizationId: row.organization_id,
  agentId: row.agent_id,
  text: row.content,
  tags: JSON.parse(row.tags),
  createdAt: row.created_at,
})

const byNumber = statement<{ number: number }>()((db, p) =>
  db.selectFrom('passages').select(PASSAGE_COLUMNS).where('number', '=', p('number')),
)

/** By its place in the table, for whoever has it from a query that knows the organisation. */
export async function passageAt(db: Executor, number: number): Promise<Passage | undefined> {
  const row = await db.get(byNumber, { number })
  return row && passageOf(row)
}

export function rangeOf({ tags = [], tagMatch = 'any', from, to, limit }: PassageQuery) {
  const wanted = [...new Set(tags)]
  return {
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
    limit,
    needed: wanted.length === 0 ? 0 : tagMatch === 'all' ? wanted.length : 1,
    ...(listValues('tag', wanted.map(listing), TAG_SLOTS) as Record<`tag${number}`, string>),
  }
}

export type PassageOf = { organization: string; agent: string }
export type PassageRange = PassageOf & {
  from: number
  to: number
  needed: number
  limit: number
  [tag: `tag${number}`]: string
}

export type PassageScope = 'one agent' | 'all agents'

/** Of this agent or of all, in this time, with these tags. */
export function passagesInRange<V extends PassageRange>(p: Parameter<V>, scope: PassageScope) {
  const tags = listParameters<V>(p, 'tag', TAG_SLOTS).map(
    (tag) => sql`(case when passages.tags like cast(${tag} as text) escape '\\' then 1 else 0 end)`,
  )
  const ofAgent = scope === 'one agent' ? sql`passages.agent_id = ${p('agent')} and` : sql``
  return sql<SqlBool>`${ofAgent} passages.organization_id = ${p('organization')}
    and passages.created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)
    and (cast(${p('needed')} as integer) = 0 or (${sql.join(tags, sql` + `)}) >= cast(${p('needed')} as integer))`
}
