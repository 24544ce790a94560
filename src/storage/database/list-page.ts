import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { type Awaitable, listParameters, listValues, type Parameter, type Slots, statement } from './statement.ts'

/** Rows are ordered by a key and, where keys are equal, by their number. */
type RowPosition = { key: number; number: number }

export type Bounds = { lowKey: number; low: number; highKey: number; high: number; limit: number }

export const inBounds = <V extends Bounds>(key: RawBuilder<number>, p: Parameter<V>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${key}, number) > (cast(${p('lowKey')} as bigint), cast(${p('low')} as bigint))
    and (${key}, number) < (cast(${p('highKey')} as bigint), cast(${p('high')} as bigint))`

const LAST = Number.MAX_SAFE_INTEGER

/**
 * The rows between the cursors. Read upwards or downwards so that the limit keeps those next to the cursor; `reversed`
 * says that they then stand the wrong way round.
 */
function boundsOf(
  { order, limit }: ListPage,
  { after, before }: { after?: RowPosition; before?: RowPosition },
): { bounds: Bounds; direction: 'up' | 'down'; reversed: boolean } {
  const [low, high] = order === 'asc' ? [after, before] : [before, after]
  const bounds = {
    lowKey: low?.key ?? -1,
    low: low?.number ?? -1,
    highKey: high?.key ?? LAST,
    high: high?.number ?? LAST,
    limit,
  }
  // With only an end given, what is wanted is next to that end.
  const reversed = before !== undefined && after === undefined
  const isUp = (order === 'asc') !== reversed
  return { bounds, direction: isUp ? 'up' : 'down', reversed }
}

/** One page of a list: where its cursors are, the rows between them, the objects in the order that was asked for. */
export async function readPage<Row, T>(
  page: ListPage,
  { find, read, objectOf }: PageReader<Row, T>,
): Promise<T[] | undefined> {
  const cursors = await findCursors(page, find)
  if (!cursors) return undefined
  const { bounds, direction, reversed } = boundsOf(page, cursors)
  const items = (await read(direction, bounds)).map(objectOf)
  return reversed ? items.reverse() : items
}

type PageReader<Row, T> = {
  /** Where the row with this id is in the order of the list. */
  find(id: string): Awaitable<{ key?: number; number: number } | undefined>
  read(direction: 'up' | 'down', bounds: Bounds): Awaitable<Row[]>
  objectOf(row: Row): T
}

/** Both cursors of a page as places; undefined where one is the id of nothing. */
async function findCursors(
  { after, before }: Pick<ListPage, 'after' | 'before'>,
  find: PageReader<unknown, unknown>['find'],
): Promise<{ after?: RowPosition; before?: RowPosition } | undefined> {
  const places: { after?: RowPosition; before?: RowPosition } = {}
  for (const [name, id] of Object.entries({ after, before })) {
    if (id === undefined) continue
    const found = await find(id)
    if (!found) return undefined
    places[name as 'after' | 'before'] = { key: Number(found.key ?? found.number), number: found.number }
  }
  return places
}

type Keys<Name extends string> = Record<Name, RawBuilder<number>>

/** A list for every key it can be sorted by, read upwards and downwards. */
export const inBothDirections = <Name extends string, List>(
  keys: Keys<Name>,
  listOf: (key: RawBuilder<number>, direction: 'asc' | 'desc') => List,
): Record<Name, { up: List; down: List }> =>
  forEach(keys, (key) => ({ up: listOf(key, 'asc'), down: listOf(key, 'desc') }))

const positionBy = (table: 'agents' | 'conversations', key: RawBuilder<number>) =>
  statement<{ organization: OrganizationId; id: string }>()((db, p) =>
    db
      .selectFrom(table)
      .select(['number', key.as('key')])
      // A cursor is any text.
      .where('id', '=', p('id') as never)
      .where('organization_id', '=', p('organization')),
  )

/** Where a row stands in each of these orders. */
export const positionsBy = <Name extends string>(
  table: 'agents' | 'conversations',
  keys: Keys<Name>,
): Record<Name, ReturnType<typeof positionBy>> => forEach(keys, (key) => positionBy(table, key))

const forEach = <Name extends string, Value>(keys: Keys<Name>, make: (key: RawBuilder<number>) => Value) =>
  Object.fromEntries(Object.entries<RawBuilder<number>>(keys).map(([name, key]) => [name, make(key)])) as Record<
    Name,
    Value
  >

/** Contains this text, in any case; what would be a wildcard is taken literally. */
export const likePattern = (text: string | undefined): string =>
  text === undefined || text === '' ? '' : `%${text.toLowerCase().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`

/** How many tags one question may name. */
const TAG_SLOTS = 16

/** Tags that rows are asked for. */
export type TagValues = Slots<'tag'> & { needed: number }

/** All of these tags, or any of them; none is no condition. Unused slots repeat the first. */
export function tagValues(tags: readonly string[] = [], match: 'all' | 'any' = 'any'): TagValues {
  const wanted = [...new Set(tags)]
  const filled = [...wanted, ...Array<string>(Math.max(0, TAG_SLOTS - wanted.length)).fill(wanted[0] ?? '')]
  return {
    ...listValues('tag', filled, TAG_SLOTS),
    needed: wanted.length === 0 ? 0 : match === 'all' ? wanted.length : 1,
  }
}

/** `items` are rows of `item(value)`. */
export const hasTags = <V extends TagValues>(p: Parameter<V>, items: RawBuilder<unknown>): RawBuilder<SqlBool> => {
  const tags = sql.join(listParameters(p, 'tag', TAG_SLOTS))
  const needed = sql`cast(${p('needed')} as integer)`
  return sql<SqlBool>`(${needed} = 0
    or (select count(distinct item.value) from ${items} where item.value in (${tags})) >= ${needed})`
}

export const isBlank = (value: string): RawBuilder<SqlBool> => sql<SqlBool>`cast(${value} as text) = ''`
