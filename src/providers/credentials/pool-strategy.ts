import type { PoolStrategy } from '../../core/credential.ts'

type RankedCandidate = {
  /** Its index in the order of the whole pool. */
  position: number
  uses: number
}

/** `lastPosition` is the position that was picked last, -1 before the first. */
type PickState = { lastPosition: number; fraction: number }

/** Picks one of `usable`, which is not empty and in the order of the pool. */
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
