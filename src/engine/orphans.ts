import type { RunId, WorkerId } from '../core/id.ts'
import type { Store } from '../ports/store.ts'

type OrphansOptions = { workerId: WorkerId; running(): RunId[] }

/**
 * Finds runs that this worker holds but does not run: the claim was committed but its reply was lost. Other workers
 * never take them over because this worker is alive. A run found twice in a row is handed back; if its claim was only
 * slow, the fence stops the late turn.
 */
export function newOrphans(
  { runs }: Pick<Store, 'runs'>,
  { workerId, running }: OrphansOptions,
): { handBack(): Promise<void> } {
  let suspects = new Map<RunId, number>()
  return {
    async handBack() {
      const held = await runs.heldBy(workerId)
      const here = new Set(running())
      const strangers = held.filter(({ id }) => !here.has(id))
      for (const { id, fence } of strangers) if (suspects.get(id) === fence) await runs.handBack(id, fence)
      suspects = new Map(strangers.map(({ id, fence }) => [id, fence]))
    },
  }
}
