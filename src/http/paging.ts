import { z } from 'zod'
import { defined } from '../core/defined.ts'
import { Problem } from '../core/problem.ts'
import type { ListPage } from '../ports/list-page.ts'
import { flag, limit } from './field.ts'
import { withoutEffect } from './field-fate.ts'
import { withinPageBytes } from './page-bytes.ts'

const order = z.enum(['asc', 'desc']).optional().describe('Sort order: `asc` is oldest first, `desc` is newest first.')

/** Cursors and order of a page. */
export const cursors = {
  after: z.string().optional().describe('Cursor: id of the last item of the previous page.'),
  before: z.string().optional().describe('Cursor: id of the first item of the next page.'),
  order,
  order_by: withoutEffect(
    z.string().optional(),
    'the list is sorted by the time of creation.',
    (key) => key !== 'created_at',
  ),
}

/** The pagination of lists. */
export const listQuery = (usual = 50) =>
  z.object({
    limit: limit(usual),
    ...cursors,
    ascending: flag.optional().describe('Older form of `order`: true is `asc`.'),
  })

/** Pagination of the blocks and tools of one agent: short lists, oldest first. */
export const ownedQuery = listQuery(1000).extend({ order: order.default('asc') })

type ListQuery = z.output<ReturnType<typeof listQuery>>

export const pageOf = ({ limit: size, after, before, order: requested, ascending }: ListQuery): ListPage => ({
  limit: size,
  order: requested ?? (ascending ? 'asc' : 'desc'),
  ...defined({ after: after || undefined, before: before || undefined }),
})

/** A page of an in-memory list that is in order of creation. */
export function paged<T extends { id: string }>(items: readonly T[], query: ListQuery): T[] {
  const { limit: size, order: direction, after, before } = pageOf(query)
  const inOrder = direction === 'asc' ? [...items] : [...items].reverse()
  const from = after ? indexOf(after) + 1 : 0
  const to = before ? indexOf(before) : inOrder.length
  const between = inOrder.slice(from, Math.max(from, to))
  return withinPageBytes(before && !after ? between.slice(-size) : between.slice(0, size), { after, before })

  function indexOf(id: string): number {
    const index = inOrder.findIndex((item) => item.id === id)
    if (index < 0) throw new Problem('not-found', `Unknown cursor "${id}". Use the id of an item in this list.`)
    return index
  }
}
