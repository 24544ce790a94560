import type { OrganizationId } from '../core/id.ts'
import type { OrganizationTurns } from '../ports/store.ts'

type TurnShares = {
  /** Counts a turn of the organization. Returns the function that takes it back. */
  enter(organizationId: OrganizationId): () => void
  isFull(organizationId: OrganizationId): boolean
  countOf(organizationId: OrganizationId): number
  state(): OrganizationTurns
}

type TurnSharesOptions = {
  maxRunning: number
  /** Turns that an organization may run at once here; 0 means no limit. */
  most(organizationId: OrganizationId): number
}

/** Organizations remembered besides those with running turns. */
const MAX_SERVED = 1_000

/** The running turns of each organization in this process, and the order in which they were served. */
export function newTurnShares({ maxRunning, most }: TurnSharesOptions): TurnShares {
  const counts = new Map<OrganizationId, number>()
  const served = new Set<OrganizationId>()

  const countOf = (id: OrganizationId) => counts.get(id) ?? 0

  /** With a limit, the last slot is left to others. */
  function isFull(id: OrganizationId): boolean {
    const limit = most(id)
    return limit > 0 && countOf(id) >= Math.min(limit, Math.max(1, maxRunning - 1))
  }

  function serve(id: OrganizationId): void {
    served.delete(id)
    served.add(id)
    if (served.size > MAX_SERVED) served.delete(served.values().next().value!)
  }

  return {
    isFull,
    countOf,
    enter(id) {
      counts.set(id, countOf(id) + 1)
      serve(id)
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        const left = countOf(id) - 1
        if (left > 0) counts.set(id, left)
        else counts.delete(id)
      }
    },
    state: () => ({ full: new Set([...counts.keys()].filter(isFull)), served: [...served] }),
  }
}
