import { defined } from '../../../src/core/defined.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { runSeeds } from '../simulator/run-seeds.ts'
import { type PlantedBug, plant } from './plant.ts'

/** A planted bug must be found within this many seeds. A simulated day has more to do than it had, so each state is rarer in it. */
export const HUNT_SEEDS = 400

/** A bug may make the simulator loop forever at one virtual moment: a silent worker counts as found. */
const SILENCE_MS = 20_000

export type HuntResult = {
  name: string
  breaks: string
  /** The seed that found the bug, and the violation it reported. */
  seed?: number
  violation?: string
  /** Why the bug could not be planted. */
  fault?: string
  ms: number
}

/** Runs the simulator on the patched code until a seed finds the bug or the seeds are used up. */
export async function hunt(bug: PlantedBug, seeds = HUNT_SEEDS): Promise<HuntResult> {
  const { name, breaks, from = 1 } = bug
  const started = performance.now()
  const server = bug.lab === 'feed' ? await startPostgres() : undefined
  if (server && 'skip' in server) return { name, breaks, ms: 0, fault: server.skip }
  const { worker, remove } = plant(bug)
  try {
    const report = await runSeeds({
      from,
      to: from + seeds - 1,
      worker,
      onViolation: 'stop',
      repeatEvery: 0,
      silenceMs: SILENCE_MS,
      environment: environmentOf(bug, server),
    })
    const found = report.violations[0]
    const ms = performance.now() - started
    // A patch that does not load is a broken patch, not a found bug.
    const isBroken = found?.seed === from && found.violations[0]!.startsWith('the simulator broke')
    if (isBroken) return { name, breaks, ms, fault: found.violations[0]! }
    return {
      name,
      breaks,
      ms,
      ...defined({ seed: found ? found.seed : undefined, violation: found ? found.violations[0]! : undefined }),
    }
  } finally {
    remove()
    await server?.stop()
  }
}

/** The server is of this process: it ends with it, also when a worker is killed. */
function environmentOf({ lab }: PlantedBug, server: { url: string } | undefined): Record<string, string> {
  if (server) return { TEST_DATABASE_URL: server.url }
  return lab === 'slack' || lab === 'discord' ? { LAB_PLATFORM: lab } : {}
}

/** A patch that no longer applies must not hide the results of the others. */
async function huntOrReport(bug: PlantedBug): Promise<HuntResult> {
  try {
    return await hunt(bug)
  } catch (fault) {
    return { name: bug.name, breaks: bug.breaks, ms: 0, fault: fault instanceof Error ? fault.message : String(fault) }
  }
}

/** Hunts all bugs, `workers` at a time. */
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
