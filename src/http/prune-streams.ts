import type { Desk } from '../service/desk.ts'

const PRUNE_EVERY_MS = 60 * 60 * 1000
/** Not at once: whoever comes back after a restart is served first. */
const FIRST_PRUNE_MS = 30_000

type Parts = { desk: Desk; report(fault: unknown, where: string): void }

/** Removes streams whose time is over, now and then, for as long as the server runs. */
export function keepPruning({ desk, report }: Parts): { stop(): Promise<void> } {
  let pruning: Promise<unknown> | undefined
  let next = setTimeout(prune, FIRST_PRUNE_MS).unref()

  function prune(): void {
    pruning = desk.world.streams
      .prune()
      // A store that cannot be written now is pruned an hour later.
      .catch((fault) => report(fault, 'pruning streams'))
      .finally(() => {
        pruning = undefined
      })
    next = setTimeout(prune, PRUNE_EVERY_MS).unref()
  }

  return {
    async stop() {
      clearTimeout(next)
      // The store is closed next: nothing of ours may still be using it.
      await pruning
    },
  }
}
