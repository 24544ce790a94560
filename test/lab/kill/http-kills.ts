import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Letta } from '@letta-ai/letta-client'
import { defined } from '../../../src/core/defined.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { checkAfterKills } from './check.ts'
import type { KillReport } from './harness.ts'
import { checkOverHttp } from './http-check.ts'
import { runHttpClients } from './http-clients.ts'
import { newWitness, type Witness } from './http-witness.ts'
import { chooseKillMode, isAskedToStop, KILL_MODES, newShuffledCycle } from './kill-modes.ts'
import { KILLABLE_METHODS } from './kill-point.ts'
import { type Life, startLife } from './life.ts'

const WORKER = fileURLToPath(new URL('./http-worker.ts', import.meta.url))
const KEY = 'the-key-of-the-kill-harness-is-long-enough'
const AGENTS = 6

export type HttpKills = { kills: number; seed: number; databaseUrl?: string }

/** On its own PostgreSQL, where the runs of a dead server wait until its lease expires. */
export async function runHttpKillsOnPostgres(options: Omit<HttpKills, 'databaseUrl'>): Promise<KillReport> {
  const database = await startPostgres()
  if ('skip' in database) throw new Error(database.skip)
  try {
    return await runHttpKills({ ...options, databaseUrl: database.url })
  } finally {
    await database.stop()
  }
}

/**
 * Kills a server process repeatedly while applications use it with the official client in all five ways of sending. The
 * applications run here and survive it; at the end their responses are compared with the stored data.
 */
export async function runHttpKills({ kills, seed, databaseUrl }: HttpKills): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-http-kill-'))
  const effects = join(home, 'effects.jsonl')
  const fraction = seededFraction(seed * 2)
  const nextMethod = newShuffledCycle(KILLABLE_METHODS, fraction)
  const witness = newWitness()
  const struck: Record<string, number> = {}
  const violations: string[] = []
  const recoveries: number[] = []
  const draining = new AbortController()
  let port = 0
  let life: Life | undefined
  const begin = (number: number, killAt?: string) =>
    startLife({
      home,
      effects,
      seed: seed * 10_000 + number,
      worker: WORKER,
      ...defined({ killAt: killAt || undefined }),
      ...defined({ databaseUrl: databaseUrl || undefined }),
      environment: { KILL_PORT: String(port), KILL_KEY: KEY },
      onReport: ({ what, runs = 0, ms = 0 }) => void (what === 'moving' && runs > 0 && recoveries.push(ms)),
    })
  try {
    life = begin(0)
    const url = (await life.hears('ready'))?.url
    if (!url) throw new Error(`the server did not start: ${life.errors()}`)
    port = Number(new URL(url).port)
    const talking = runHttpClients({ url, key: KEY, seed, agents: AGENTS, witness, draining: draining.signal }).then(
      () => [],
      (fault: Error) => [`a client gave up: ${fault.message}`],
    )
    for (let kill = 0; kill < kills; kill++) {
      const way = chooseKillMode(fraction, nextMethod)
      if (kill > 0) life = begin(kill, way.type === 'at-call' ? way.killAt : undefined)
      const died = await KILL_MODES[way.type](life, way)
      if (died && way.type === 'at-call') struck[way.method] = (struck[way.method] ?? 0) + 1
      await life.kill()
      if (!life.isKilled() && !isAskedToStop(way)) violations.push(`a server ended by itself: ${life.errors()}`)
      violations.push(...faultsIn(life))
    }
    life = begin(kills)
    await life.hears('ready')
    await Promise.race([untilAccepted(witness, draining.signal), talking])
    draining.abort()
    violations.push(...(await talking))
    const client = new Letta({ baseURL: url, apiKey: KEY, maxRetries: 0 })
    await untilIdle(client)
    violations.push(...(await checkOverHttp(witness, { client, url, key: KEY })), ...faultsIn(life))
    life.order('stop')
    if (!(await life.endsWithin(15_000))) violations.push(`the last server did not stop: ${life.errors()}`)
    await life.kill()
    const parts = { home, effects, reports: witness.reports, ...defined({ databaseUrl: databaseUrl || undefined }) }
    const { violations: found, ...report } = await checkAfterKills(parts)
    return { kills, struck, recoveries, ...report, violations: [...violations, ...found] }
  } finally {
    draining.abort()
    await life?.kill()
    rmSync(home, { recursive: true, force: true })
  }
}

/** A killed server reports no errors; any reported error is a bug. */
const faultsIn = (life: Life): string[] => {
  const said = life.errors()
  return said.includes('fault: ') ? [`a server reported: ${said}`] : []
}

/** On a busy machine every server but the last may die before it answers a client. */
async function untilAccepted({ reports }: Witness, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !reports.some(({ what }) => what === 'accepted')) await sleep(20)
}

async function untilIdle(client: Letta): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(20)) {
    const active = await client.runs.list({ active: true, limit: 1 })
    if (active.getPaginatedItems().length === 0) return
  }
}
