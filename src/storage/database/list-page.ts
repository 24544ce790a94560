import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { type Awaitable, listParameters, listValues, type Parameter, type Slots, statement } from './statement.ts'

/** Position of a row: lists are ordered by a key and, for equal keys, by row number. */
type RowPosition = { key: number; number: number }

export type Bounds = { lowKey: number; low: number; highKey: number; high: number; limit: number }

export const inBounds = <V extends Bounds>(key: RawBuilder<number>, p: Parameter<V>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${key}, number) > (cast(${p('lowKey')} as bigint), cast(${p('low')} as bigint))
    and (${key}, number) < (cast(${p('highKey')} as bigint), cast(${p('high')} as bigint))`

const LAST = Number.MAX_SAFE_INTEGER

/**
 * The bounds between the cursors, and the direction in which the limit keeps the rows next to the cursor. If
 * `reversed`, the rows come in the opposite of the requested order.
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
  // With only `before`, the page is the rows directly before that cursor.
  const reversed = before !== undefined && after === undefined
  const isUp = (order === 'asc') !== reversed
  return { bounds, direction: isUp ? 'up' : 'down', reversed }
}

/**
 * Reads one page of a list: finds its cursors, reads the rows between them, and returns objects in the requested order.
 */
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
  /** Position of the row with this id in the list order. */
  find(id: string): Awaitable<{ key?: number; number: number } | undefined>
  read(direction: 'up' | 'down', bounds: Bounds): Awaitable<Row[]>
  objectOf(row: Row): T
}

/** Positions of both cursors; undefined if a cursor is not a known id. */
async function findCursors(
  { after, before }: Pick<ListPage, 'after' | 'before'>,
  find: PageReader<unknown, unknown>['find'],
): Promise<{ after?: RowPosition; before?: RowPosition } | undefined> {
  const cursors: { after?: RowPosition; before?: RowPosition } = {}
  for (const [name, id] of Object.entries({ after, before })) {
    if (id === undefined) continue
    const found = await find(id)
    if (!found) return undefined
    cursors[name as 'after' | 'before'] = { key: Number(found.key ?? found.number), number: found.number }
  }
  return cursors
}

type Keys<Name extends string> = Record<Name, RawBuilder<number>>

/** A statement for each sort key and direction. */
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
      // Cursors come from the caller and may be any text.
      .where('id', '=', p('id') as never)
      .where('organization_id', '=', p('organization')),
  )

/** A statement that finds the position of a row, for each sort key. */
export const positionsBy = <Name extends string>(
  table: 'agents' | 'conversations',
  keys: Keys<Name>,
): Record<Name, ReturnType<typeof positionBy>> => forEach(keys, (key) => positionBy(table, key))

const forEach = <Name extends string, Value>(keys: Keys<Name>, make: (key: RawBuilder<number>) => Value) =>
  Object.fromEntries(Object.entries<RawBuilder<number>>(keys).map(([name, key]) => [name, make(key)])) as Record<
    Name,
    Value
  >

/** LIKE pattern for a case-insensitive substring; wildcards in the text are escaped. */
export const likePattern = (text: string | undefined): string =>
  text === undefined || text === '' ? '' : `%${text.toLowerCase().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`

/** Maximum number of tags in a filter. */
const TAG_SLOTS = 16

/** Parameters of a tag filter. */
export type TagValues = Slots<'tag'> & { needed: number }

/** Matches all or any of these tags; an empty list matches every row. Unused slots repeat the first tag. */
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
