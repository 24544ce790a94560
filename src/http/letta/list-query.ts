import { z } from 'zod'
import type { ListPage } from '../../ports/memory-store.ts'
import { refuse } from './errors.ts'
import { flag, limit } from './parse.ts'

/** The paging every list has. */
export const listQuery = (usual = 50) =>
  z.object({
    limit: limit(usual),
    after: z.string().optional(),
    before: z.string().optional(),
    order: z.enum(['asc', 'desc']).optional(),
    ascending: flag.optional(),
  })

type Query = z.output<ReturnType<typeof listQuery>>

export const pageOf = ({ limit: size, after, before, order, ascending }: Query): ListPage => ({
  limit: size,
  order: order ?? (ascending ? 'asc' : 'desc'),
  ...(after ? { after } : {}),
  ...(before ? { before } : {}),
})

/** A page of a list that is at hand as a whole, in order of making. */
export function paged<T extends { id: string }>(items: readonly T[], asked: Query): T[] {
  const { limit: size, order, after, before } = pageOf(asked)
  const inOrder = order === 'asc' ? [...items] : [...items].reverse()
  const from = after ? placeOf(after) + 1 : 0
  const to = before ? placeOf(before) : inOrder.length
  const between = inOrder.slice(from, Math.max(from, to))
  return before && !after ? between.slice(-size) : between.slice(0, size)

  function placeOf(id: string): number {
    const place = inOrder.findIndex((item) => item.id === id)
    if (place < 0) throw refuse(404, `NOT_FOUND: There is no ${id} to go on from.`)
    return place
  }
}
