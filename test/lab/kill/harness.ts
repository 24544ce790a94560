import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { seededFraction } from '../../harness/seeded.ts'
import { checkAfterKills, type Told } from './check.ts'
import { KILLABLE_METHODS } from './kill-point.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

export type KillOptions = { kills: number; seed: number; databaseUrl?: string }
export type KillReport = {
  kills: number
  accepted: number
  runs: number
  effects: number
  /** From each restart to the first sign of life of the new process, in milliseconds. */
  recoveries: number[]
  violations: string[]
}

/**
 * Kills a real process on real files again and again, at exact calls of the store and at random moments, then lets the
 * last life finish and compares what clients were told with what is there.
 */
export async function runKills({ kills, seed, databaseUrl }: KillOptions): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-kill-'))
  const effects = join(home, 'effects.jsonl')
  const fraction = seededFraction(seed)
  const told: Told[] = []
  const recoveries: number[] = []
  try {
    for (let kill = 0; kill < kills; kill++) {
      const atCall = fraction() < 0.5
      const life = startLife({
        home,
        effects,
        seed: seed * 10_000 + kill,
        ...(atCall ? { killAt: killPoint(fraction) } : {}),
        ...(databaseUrl ? { databaseUrl } : {}),
      })
      life.onTold((line) => told.push(line))
      const ready = await life.first('ready')
      if (ready !== undefined) recoveries.push(ready)
      // A life that is to die at an exact call gets a moment to reach it, and dies anyway if it does not.
      await life.endsWithin(atCall ? 600 : 20 + fraction() * 250)
      await life.kill()
    }
    const last = startLife({ home, effects, seed: seed * 10_000 + kills, ...(databaseUrl ? { databaseUrl } : {}) })
    last.onTold((line) => told.push(line))
    await last.first('ready')
    last.drain()
    const idle = await last.first('idle')
    const report = await checkAfterKills({ home, effects, told, ...(databaseUrl ? { databaseUrl } : {}) })
    const stuck = idle === undefined ? [`the last life did not come to rest: ${last.errors()}`] : []
    await last.kill()
    return { kills, recoveries, ...report, violations: [...stuck, ...report.violations] }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function killPoint(fraction: () => number): string {
  const method = KILLABLE_METHODS[Math.floor(fraction() ** 2 * KILLABLE_METHODS.length)]!
  const count = 1 + Math.floor(fraction() * (method === 'events.append' ? 60 : 6))
  return `${method}:${count}:${fraction() < 0.5 ? 'before' : 'after'}`
}

type LifeOptions = { home: string; effects: string; seed: number; killAt?: string; databaseUrl?: string }

function startLife({ home, effects, seed, killAt, databaseUrl }: LifeOptions) {
  const started = performance.now()
  const child: ChildProcess = spawn(process.execPath, [WORKER], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...{ HOLDFAST_HOME: home, KILL_EFFECTS: effects, KILL_SEED: String(seed), HOLDFAST_DURABILITY: 'relaxed' },
      ...(killAt ? { KILL_AT: killAt } : {}),
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
    },
  })
  let errors = ''
  child.stderr!.on('data', (text) => {
    errors += text
  })
  child.stdin!.on('error', () => {
    // It died before it could be told: that is the point of the harness.
  })
  const listeners = new Set<(line: Told) => void>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const told = parseTold(line)
    if (told) for (const listener of listeners) listener(told)
  })
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()))
  return {
    onTold: (listener: (line: Told) => void) => listeners.add(listener),
    /** Milliseconds until this was told; undefined if it died (or a minute passed) first. */
    first: (what: string) =>
      new Promise<number | undefined>((resolve) => {
        const timer = setTimeout(() => resolve(undefined), 60_000)
        const finish = (value: number | undefined) => {
          clearTimeout(timer)
          resolve(value)
        }
        listeners.add((line) => line.what === what && finish(performance.now() - started))
        void exited.then(() => finish(undefined))
      }),
    async endsWithin(ms: number) {
      const timer = new AbortController()
      const wait = new Promise<void>((resolve) => {
        const handle = setTimeout(resolve, ms)
        timer.signal.addEventListener('abort', () => clearTimeout(handle))
      })
      await Promise.race([exited, wait])
      timer.abort()
    },
    drain: () => child.stdin!.write('drain\n'),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    errors: () => errors.slice(-2_000),
  }
}

/** The last line of a killed process may be half a line. */
function parseTold(line: string): Told | undefined {
  try {
    return JSON.parse(line) as Told
  } catch {
    return undefined
  }
}
