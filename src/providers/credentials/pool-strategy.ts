import type { PoolStrategy } from '../../core/credential.ts'

type RankedCandidate = {
  /** In the order of the whole pool. */
  position: number
  uses: number
}

/** `after`: the place that was taken last, -1 before the first. */
type PickState = { lastPosition: number; fraction: number }

/** One of those that can serve, which are in the order of the pool and at least one. */
export function pickCandidate<T extends RankedCandidate>(
  strategy: PoolStrategy,
  usable: readonly T[],
  state: PickState,
): T {
  switch (strategy) {
    case 'fill_first':
      return usable[0]!
    case 'round_robin':
      return usable.find(({ position }) => position > state.lastPosition) ?? usable[0]!
    case 'least_used':
      return usable.reduce((least, one) => (one.uses < least.uses ? one : least))
    case 'random':
      return usable[Math.floor(state.fraction * usable.length)]!
  }
}
