import { defined } from '../../../src/core/defined.ts'
import { runSeeds } from '../simulator/run-seeds.ts'
import { type PlantedBug, plant } from './plant.ts'

/** A planted bug must be found within this many seeds. */
export const HUNT_SEEDS = 200

/** A bug may make the simulator go round in circles without time passing: that is found, too. */
const SILENCE_MS = 20_000

export type HuntResult = {
  name: string
  breaks: string
  /** The seed that found it, and what it said. */
  seed?: number
  violation?: string
  /** Why it could not be planted. */
  fault?: string
  ms: number
}

/** Runs the simulator on the bug until it is found, or until the seeds are used up. */
export async function hunt(bug: PlantedBug, seeds = HUNT_SEEDS): Promise<HuntResult> {
  const { name, breaks } = bug
  const started = performance.now()
  const { worker, remove } = plant(bug)
  try {
    const report = await runSeeds({
      from: 1,
      to: seeds,
      worker,
      onViolation: 'stop',
      repeatEvery: 0,
      silenceMs: SILENCE_MS,
    })
    const found = report.violations[0]
    const ms = performance.now() - started
    // A patch that does not even load has not been found but refused.
    const isBroken = found?.seed === 1 && found.violations[0]!.startsWith('the simulator broke')
    if (isBroken) return { name, breaks, ms, fault: found.violations[0]! }
    return {
      name,
      breaks,
      ms,
      ...defined({ seed: found ? found.seed : undefined, violation: found ? found.violations[0]! : undefined }),
    }
  } finally {
    remove()
  }
}

/** A patch that no longer fits must not hide what became of the others. */
async function huntOrReport(bug: PlantedBug): Promise<HuntResult> {
  try {
    return await hunt(bug)
  } catch (fault) {
    return { name: bug.name, breaks: bug.breaks, ms: 0, fault: fault instanceof Error ? fault.message : String(fault) }
  }
}

/** All of them, a few at a time. */
export async function huntAll(
  bugs: readonly PlantedBug[],
  { workers, onCatch }: { workers: number; onCatch?(found: HuntResult): void },
): Promise<HuntResult[]> {
  const catches = new Map<string, HuntResult>()
  const left = [...bugs]
  const hunter = async () => {
    for (let bug = left.shift(); bug; bug = left.shift()) {
      const found = await huntOrReport(bug)
      catches.set(bug.name, found)
      onCatch?.(found)
    }
  }
  await Promise.all(Array.from({ length: workers }, hunter))
  return bugs.map((bug) => catches.get(bug.name)!)
}
