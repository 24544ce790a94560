import { defined } from '../../../src/core/defined.ts'
import { LEASE_MS } from '../../../src/engine/lease.ts'
import type { PostgresServer } from '../../harness/postgres.ts'
import type { Check } from './check.ts'
import { type Cluster, withCluster } from './cluster.ts'
import { startFaultProxy } from './fault-proxy.ts'
import type { Life } from './life.ts'

export type Scenario = { databaseUrl: string; seed: number }
/** `takeoverMs` counts from the moment the other process stopped. */
export type Outcome = Check & { takeoverMs?: number }

const STUCK_MS = 3 * LEASE_MS

/**
 * A process is paused during its runs for longer than its lease, another one takes them over, and then the first one
 * resumes as if no time had passed.
 */
export const pauseLongerThanTheLease = (scenario: Scenario): Promise<Outcome> =>
  withCluster(scenario, async (cluster) => {
    const { sleeper } = await startPair(cluster)
    const held = await pauseInTheMiddle(sleeper, cluster)
    const takeoverMs = await cluster.takenOver(held, STUCK_MS)
    const from = sleeper.now()
    sleeper.resume()
    const isFine = await sleeper.hears('accepted', { from, withinMs: STUCK_MS })
    const check = await cluster.finish()
    return {
      ...check,
      ...defined({ takeoverMs }),
      violations: [
        ...(takeoverMs === undefined ? [`the runs of a paused process were not taken over within ${STUCK_MS} ms`] : []),
        ...(isFine ? [] : [`the resumed process does not work: ${sleeper.errors()}`]),
        ...check.violations,
      ],
    }
  })

/** PostgreSQL crashes under load as in a power loss and restarts on the same data. */
export const restartPostgres = (
  scenario: Scenario,
  server: Pick<PostgresServer, 'crash' | 'restart'>,
): Promise<Outcome> =>
  withCluster(scenario, async (cluster) => {
    const pair = Object.values(await startPair(cluster))
    const from = pair.map((life) => life.now())
    await server.crash()
    // Both processes report refused writes while PostgreSQL is down.
    await Promise.all(pair.map((life, index) => life.hears('refused', { from: from[index]! })))
    await server.restart()
    const silent = await withoutProgress(pair, 'after the restart')
    const check = await cluster.finish('may-be-lost')
    return { ...check, violations: [...silent, ...check.violations] }
  })

/** One of two processes uses a connection to PostgreSQL that is late, slow, cut and finally half open. */
export const spoilTheLine = (scenario: Scenario): Promise<Outcome> =>
  withCluster(scenario, async (cluster) => {
    const proxy = await startFaultProxy(scenario.databaseUrl)
    try {
      const { sleeper: far } = await startPair(cluster, proxy.url)
      const silent: string[] = []
      for (const mode of ['delay', 'slow', 'through'] as const) {
        proxy.set(mode)
        for (let cut = 0; cut < 2; cut++) {
          silent.push(...(await withoutProgress([far], `on a connection with ${mode}`)))
          proxy.cut()
        }
      }
      silent.push(...(await withoutProgress([far], 'after the last cut')))

      proxy.set('half-open')
      let held = await cluster.heldBy(far)
      // It held no runs at that moment: restore the connection and try again.
      while (held.length === 0) {
        proxy.set('through')
        proxy.cut()
        silent.push(...(await withoutProgress([far], 'between two half-open connections')))
        proxy.set('half-open')
        held = await cluster.heldBy(far)
      }
      const takeoverMs = await cluster.takenOver(held, STUCK_MS)
      proxy.set('through')
      proxy.cut()
      silent.push(...(await withoutProgress([far], 'after a half-open connection')))
      const check = await cluster.finish()
      const stuck = takeoverMs === undefined ? [`no takeover behind a half-open connection within ${STUCK_MS} ms`] : []
      return {
        ...check,
        ...defined({ takeoverMs }),
        violations: [...stuck, ...silent, ...check.violations],
      }
    } finally {
      await proxy.close()
    }
  })

async function startPair(cluster: Cluster, url?: string): Promise<{ sleeper: Life; other: Life }> {
  const sleeper = cluster.start(0, url ? { url } : {})
  if (!(await sleeper.hears('ready'))) throw new Error(`a process did not start: ${sleeper.errors()}`)
  const other = cluster.start(1)
  if (!(await other.hears('ready'))) throw new Error(`a process did not start: ${other.errors()}`)
  await sleeper.hears('accepted')
  await other.hears('accepted')
  return { sleeper, other }
}

/** Pauses a process while it holds runs; retries until it holds some. */
async function pauseInTheMiddle(life: Life, cluster: Cluster) {
  for (;;) {
    life.pause()
    const held = await cluster.heldBy(life)
    if (held.length > 0) return held
    const from = life.now()
    life.resume()
    await life.hears('accepted', { from })
  }
}

/** Each process must accept one more message and finish one more run. */
async function withoutProgress(lives: readonly Life[], when: string): Promise<string[]> {
  const silent = await Promise.all(
    lives.map(async (life) => {
      const from = life.now()
      const heard = (await life.hears('accepted', { from })) && (await life.hears('watched', { from }))
      return heard ? [] : [`a process no longer works ${when}: ${life.errors()}`]
    }),
  )
  return silent.flat()
}
