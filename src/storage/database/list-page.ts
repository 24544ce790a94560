import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ListPage } from '../../ports/memory-store.ts'
import { type Parameter, statement } from './statement.ts'

/** Rows are ordered by a key and, where keys are equal, by their number. */
export type Place = { key: number; number: number }

export type Bounds = { lowKey: number; low: number; highKey: number; high: number; limit: number }

export const inBounds = <V extends Bounds>(key: RawBuilder<number>, p: Parameter<V>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${key}, number) > (cast(${p('lowKey')} as bigint), cast(${p('low')} as bigint))
    and (${key}, number) < (cast(${p('highKey')} as bigint), cast(${p('high')} as bigint))`

const LAST = Number.MAX_SAFE_INTEGER

/**
 * The rows between the cursors. Read upwards or downwards so that the limit keeps those next to the cursor; `reversed`
 * says that they then stand the wrong way round.
 */
export function boundsOf(
  { order, limit }: ListPage,
  { after, before }: { after?: Place; before?: Place },
): { bounds: Bounds; read: 'up' | 'down'; reversed: boolean } {
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
  return { bounds, read: isUp ? 'up' : 'down', reversed }
}

/** Both cursors of a page as places; undefined where one is the id of nothing. */
export async function placesOf(
  { after, before }: Pick<ListPage, 'after' | 'before'>,
  find: (id: string) => Promise<Place | undefined>,
): Promise<{ after?: Place; before?: Place } | undefined> {
  const places: { after?: Place; before?: Place } = {}
  for (const [name, id] of Object.entries({ after, before })) {
    if (id === undefined) continue
    const place = await find(id)
    if (!place) return undefined
    places[name as 'after' | 'before'] = place
  }
  return places
}

type Keys<Name extends string> = Record<Name, RawBuilder<number>>

/** A list for every key it can be sorted by, read upwards and downwards. */
export const bothWays = <Name extends string, List>(
  keys: Keys<Name>,
  listOf: (key: RawBuilder<number>, direction: 'asc' | 'desc') => List,
): Record<Name, { up: List; down: List }> =>
  forEach(keys, (key) => ({ up: listOf(key, 'asc'), down: listOf(key, 'desc') }))

const placeBy = (table: 'agents' | 'conversations', key: RawBuilder<number>) =>
  statement<{ organization: string; id: string }>()((db, p) =>
    db
      .selectFrom(table)
      .select(['number', key.as('key')])
      .where('id', '=', p('id'))
      .where('organization_id', '=', p('organization')),
  )

/** Where a row stands in each of these orders. */
export const placesBy = <Name extends string>(
  table: 'agents' | 'conversations',
  keys: Keys<Name>,
): Record<Name, ReturnType<typeof placeBy>> => forEach(keys, (key) => placeBy(table, key))

const forEach = <Name extends string, Value>(keys: Keys<Name>, make: (key: RawBuilder<number>) => Value) =>
  Object.fromEntries(Object.entries<RawBuilder<number>>(keys).map(([name, key]) => [name, make(key)])) as Record<
    Name,
    Value
  >

/** Contains this text, in any case; what would be a wildcard is taken literally. */
export const containing = (text: string | undefined): string =>
  text === undefined || text === '' ? '' : `%${text.toLowerCase().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`

/** A JSON list of strings that contains this one. */
export const listing = (item: string): string =>
  `%${JSON.stringify(item).replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`

/** How many tags one question may name. */
export const TAG_SLOTS = 16

export const isBlank = (value: never): RawBuilder<SqlBool> => sql<SqlBool>`cast(${value} as text) = ''`
