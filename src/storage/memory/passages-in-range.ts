import { type SqlBool, sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { Passage, PassageQuery } from '../../core/passage.ts'
import type { Dialect } from '../database/dialect.ts'
import { hasTags, type TagValues, tagValues } from '../database/list-page.ts'
import { type Executor, type Parameter, statement } from '../database/statement.ts'
import { PASSAGE } from '../rows/passage-row.ts'

const byNumber = statement<{ number: number }>()((db, p) =>
  db.selectFrom('passages').select(PASSAGE.columns).where('number', '=', p('number')),
)

/** By row number; the query that found it has checked the organization. */
export async function passageAt(db: Executor, number: number): Promise<Passage | undefined> {
  const row = await db.get(byNumber, { number })
  return row && PASSAGE.objectOf(row)
}

export const rangeOf = ({ tags, tagMatch, from, to, limit }: PassageQuery) => ({
  from: from ?? 0,
  to: to ?? Number.MAX_SAFE_INTEGER,
  limit,
  ...tagValues(tags, tagMatch),
})

/** An empty agent matches all. */
export type PassageRange = TagValues & {
  organization: OrganizationId
  agent: string
  from: number
  to: number
  limit: number
}

export type PassageScope = 'one agent' | 'all agents'

/** Passages of one agent or all, in a time range, with tags. */
export function passagesInRange<V extends PassageRange>(
  p: Parameter<V>,
  scope: PassageScope,
  { listItems }: Pick<Dialect, 'listItems'>,
) {
  const ofAgent = scope === 'one agent' ? sql`passages.agent_id = ${p('agent')} and` : sql``
  return sql<SqlBool>`${ofAgent} passages.organization_id = ${p('organization')}
    and passages.created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)
    and ${hasTags(p, listItems(sql`passages.tags`))}`
}
