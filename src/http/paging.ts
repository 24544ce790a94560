import { z } from 'zod'
import { defined } from '../core/defined.ts'
import { Problem } from '../core/problem.ts'
import type { ListPage } from '../ports/list-page.ts'
import { flag, limit } from './field.ts'

const order = z.enum(['asc', 'desc']).optional().describe('`asc` is oldest first; usually newest first.')

/** Where a page begins or ends. */
export const cursors = {
  after: z.string().optional().describe('The id of the last item of the page before.'),
  before: z.string().optional().describe('The id of the first item of the page behind.'),
  order,
}

/** The pagination every list has. */
export const listQuery = (usual = 50) =>
  z.object({
    limit: limit(usual),
    ...cursors,
    ascending: flag.optional().describe('The older spelling of `order`.'),
  })

/** Lists of what one agent has are short and come oldest first. */
export const ownedQuery = listQuery(1000).extend({ order: order.default('asc') })

type ListQuery = z.output<ReturnType<typeof listQuery>>

export const pageOf = ({ limit: size, after, before, order: asked, ascending }: ListQuery): ListPage => ({
  limit: size,
  order: asked ?? (ascending ? 'asc' : 'desc'),
  ...defined({ after: after || undefined, before: before || undefined }),
})

/** A page of a list that is at hand as a whole, in order of creation. */
export function paged<T extends { id: string }>(items: readonly T[], asked: ListQuery): T[] {
  const { limit: size, order: direction, after, before } = pageOf(asked)
  const inOrder = direction === 'asc' ? [...items] : [...items].reverse()
  const from = after ? indexOf(after) + 1 : 0
  const to = before ? indexOf(before) : inOrder.length
  const between = inOrder.slice(from, Math.max(from, to))
  return before && !after ? between.slice(-size) : between.slice(0, size)

  function indexOf(id: string): number {
    const index = inOrder.findIndex((item) => item.id === id)
    if (index < 0) throw new Problem('not-found', `There is no ${id} to go on from.`)
    return index
  }
}
