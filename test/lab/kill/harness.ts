import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '../../../src/core/defined.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { checkAfterKills, type WorkerReport } from './check.ts'
import { runHttpKills, runHttpKillsOnPostgres } from './http-kills.ts'
import { chooseKillMode, isAskedToStop, KILL_MODES, newShuffledCycle } from './kill-modes.ts'
import { KILLABLE_METHODS } from './kill-point.ts'
import { startLife } from './life.ts'
import { runPostgresKills } from './postgres-kills.ts'

export type KillOptions = { kills: number; seed: number; database?: 'sqlite' | 'postgres' }

export type KillReport = {
  kills: number
  accepted: number
  runs: number
  effects: number
  /**
   * Milliseconds until every interrupted run continued: on SQLite from the start of the next process, on PostgreSQL
   * from the kill, including the expiry of the lease.
   */
  recoveries: number[]
  violations: string[]
  /** How often a process died at its chosen call. */
  struck: Record<string, number>
}

/** Homes that are tested concurrently: while one process starts, the other works. */
const HOMES = 2

/**
 * Kills real processes on real files repeatedly, at exact calls of the ports and at random moments, then lets the last
 * process finish and compares the responses of clients with the stored data.
 */
export async function runKills({ kills, seed, database = 'sqlite' }: KillOptions): Promise<KillReport> {
  if (database === 'postgres') return runPostgresKills({ kills, seed })
  return sideBySide({ kills, seed }, killHome)
}

/** The same over HTTP: a server process dies, its clients do not. */
export async function runKillsOverHttp({ kills, seed, database = 'sqlite' }: KillOptions): Promise<KillReport> {
  return sideBySide({ kills, seed }, database === 'postgres' ? runHttpKillsOnPostgres : runHttpKills)
}

type Share = { kills: number; seed: number }

async function sideBySide({ kills, seed }: Share, kill: (share: Share) => Promise<KillReport>): Promise<KillReport> {
  const homes = Math.min(HOMES, kills)
  const shares = Array.from({ length: homes }, (_, home) => Math.floor((kills + home) / homes))
  return mergeReports(await Promise.all(shares.map((share, home) => kill({ kills: share, seed: seed + home / 2 }))))
}

export const mergeReports = (reports: readonly KillReport[]): KillReport =>
  reports.reduce((one, other) => ({
    kills: one.kills + other.kills,
    accepted: one.accepted + other.accepted,
    runs: one.runs + other.runs,
    effects: one.effects + other.effects,
    recoveries: [...one.recoveries, ...other.recoveries],
    violations: [...one.violations, ...other.violations],
    struck: addCounts(one.struck, other.struck),
  }))

async function killHome({ kills, seed }: { kills: number; seed: number }): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-kill-'))
  const effects = join(home, 'effects.jsonl')
  const fraction = seededFraction(seed * 2)
  const nextMethod = newShuffledCycle(KILLABLE_METHODS, fraction)
  const reports: WorkerReport[] = []
  const struck: Record<string, number> = {}
  const violations: string[] = []
  const begin = (life: number, killAt?: string) =>
    startLife({
      home,
      effects,
      seed: seed * 10_000 + life,
      ...defined({ killAt: killAt || undefined }),
      onReport: (line) => reports.push(line),
    })
  try {
    for (let kill = 0; kill < kills; kill++) {
      const way = chooseKillMode(fraction, nextMethod)
      const life = begin(kill, way.type === 'at-call' ? way.killAt : undefined)
      const died = await KILL_MODES[way.type](life, way)
      if (died && way.type === 'at-call') struck[way.method] = (struck[way.method] ?? 0) + 1
      await life.kill()
      if (!life.isKilled() && !isAskedToStop(way))
        violations.push(`kill ${kill} (${way.type}): a process ended by itself, ${life.ending()}`)
    }
    const last = begin(kills)
    await last.hears('ready')
    // On a busy machine every earlier process may have died before it accepted a message.
    if (!reports.some(({ what }) => what === 'accepted')) await last.hears('accepted')
    last.order('drain')
    if (!(await last.hears('idle'))) violations.push(`the last process did not become idle, ${last.ending()}`)
    await last.endsWithin(10_000)
    await last.kill()
    const { violations: found, ...report } = await checkAfterKills({ home, effects, reports })
    return { kills, struck, recoveries: recoveriesIn(reports), ...report, violations: [...violations, ...found] }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const recoveriesIn = (reports: readonly WorkerReport[]): number[] =>
  reports.flatMap((line) => (line.what === 'moving' && line.runs! > 0 ? [line.ms!] : []))

function addCounts(one: Record<string, number>, other: Record<string, number>): Record<string, number> {
  const sum = { ...one }
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
