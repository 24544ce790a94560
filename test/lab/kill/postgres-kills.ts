import { LEASE_MS } from '../../../src/engine/lease.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { type Cluster, type HeldRun, withCluster } from './cluster.ts'
import type { KillReport } from './harness.ts'
import { chooseKillPoint, KILLABLE_METHODS } from './kill-point.ts'
import type { Life } from './life.ts'

/** Maximum time for another process to take over the runs of a dead one. */
export const TAKEOVER_MS = LEASE_MS + 2_000
/** A takeover that takes longer counts as stuck. */
const STUCK_MS = 3 * LEASE_MS

/** Two processes share one PostgreSQL database; one is killed, at a call or at random, while the other continues. */
export async function runPostgresKills({ kills, seed }: { kills: number; seed: number }): Promise<KillReport> {
  const server = await startPostgres()
  if ('skip' in server) throw new Error(server.skip)
  try {
    return await withCluster({ databaseUrl: server.url, seed }, (cluster) => killOneOfTwo(cluster, { kills, seed }))
  } finally {
    await server.stop()
  }
}

async function killOneOfTwo(cluster: Cluster, { kills, seed }: { kills: number; seed: number }): Promise<KillReport> {
  const fraction = seededFraction(seed)
  const struck: Record<string, number> = {}
  const takeovers: Promise<number | undefined>[] = []
  const violations: string[] = []
  /** Measured from the death: the held runs are read immediately. */
  const bury = async (victim: Life) => {
    await victim.kill()
    if (!victim.isKilled()) violations.push(`a process ended by itself: ${victim.errors()}`)
    takeovers.push(measured(cluster, await cluster.heldBy(victim)))
  }
  const pair = [await ready(cluster.start(0)), await ready(cluster.start(1))]

  for (let kill = 0; kill < kills; kill++) {
    const index = Math.floor(fraction() * 2)
    await pair[index]!.endsWithin(20 + fraction() * 300)
    await bury(pair[index]!)

    // Every second kill is at a call: the next process dies there, if it reaches the call.
    if (fraction() < 0.5 && kill + 1 < kills) {
      const method = KILLABLE_METHODS[Math.floor(fraction() * KILLABLE_METHODS.length)]!
      const doomed = cluster.start(index, { killAt: chooseKillPoint(method, fraction) })
      await doomed.hears('ready')
      if (await doomed.endsWithin(400)) struck[method] = (struck[method] ?? 0) + 1
      await bury(doomed)
      kill++
    }
    pair[index] = await ready(cluster.start(index))
  }
  const times = await Promise.all(takeovers)
  const { violations: found, ...report } = await cluster.finish()
  const stuck = times.flatMap((ms) => (ms === undefined ? [`runs were not taken over within ${STUCK_MS} ms`] : []))
  const recoveries = times.filter((ms) => ms !== undefined && ms > 0) as number[]
  return { kills, struck, recoveries, ...report, violations: [...violations, ...stuck, ...found] }
}

/** Runs with earlier deaths are recovered one at a time, so only the runs of this death are measured. */
async function measured(cluster: Cluster, held: readonly HeldRun[]): Promise<number | undefined> {
  const fresh = held.filter(({ deaths }) => deaths === 0)
  return fresh.length === 0 ? 0 : cluster.takenOver(fresh, STUCK_MS)
}

async function ready(life: Life): Promise<Life> {
  if (!(await life.hears('ready'))) throw new Error(`a process did not start: ${life.errors()}`)
  return life
}
