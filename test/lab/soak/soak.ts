import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openApp } from '../../../src/app.ts'
import { checkStore } from '../../../src/service/store/check-store.ts'
import { pageOf } from './page.ts'
import type { Check, Sample, Totals } from './sample.ts'
import { judge, type Verdict } from './verdict.ts'

export type SoakOptions = {
  minutes: number
  seed: number
  /** Folder for `soak.html` and `soak.json`. */
  folder: string
  onSample?(sample: Sample, totals: Totals): void
}

export type SoakReport = {
  minutes: number
  seed: number
  samples: Sample[]
  checks: Check[]
  totals: Totals
  stuck: string[]
  faults: string[]
  verdict: Verdict
}

type SoakMessage = Partial<Sample> & { what: string; totals?: Totals; stuck?: string[]; text?: string }

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
const SECONDS_BETWEEN_CHECKS = 60
/** Longer soaks take fewer samples per minute. */
const MOST_SAMPLES = 600
/** 43 seconds, so that unanswered approvals expire during a soak. */
const APPROVAL_DAYS = '0.0005'
const DRAIN_MS = 180_000

/** Runs a real server under mixed traffic; returns its curves, the invariant checks and a verdict. */
export async function runSoak({ minutes, seed, folder, onSample }: SoakOptions): Promise<SoakReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-soak-'))
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1_000
  const samples: Sample[] = []
  const checks: Check[] = []
  const faults: string[] = []
  const server = startServer({ home, seed, minutes, hear })
  let last: SoakMessage | undefined

  function hear(line: SoakMessage): void {
    if (line.what === 'fault') faults.push(line.text ?? '')
    if (line.totals) last = line
    if (line.what !== 'sample') return
    const { what: _, totals, ...figures } = line
    const sample = { ...figures, ...sizesIn(home), at: seconds() } as Sample
    samples.push(sample)
    onSample?.(sample, totals!)
  }

  try {
    await server.heard('started')
    for (let next = SECONDS_BETWEEN_CHECKS; next < minutes * 60; next += SECONDS_BETWEEN_CHECKS) {
      if (!(await server.livesFor(next - seconds()))) break
      checks.push(await check(home, seconds()))
    }
    await server.livesFor(minutes * 60 - seconds())
    // Once more under load, for a soak of less than a minute.
    checks.push(await check(home, seconds()))
    const isDrained = await server.drain()
    if (!isDrained) faults.push(`the server did not become idle: ${server.errors()}`)
    checks.push(await check(home, seconds()))
    const totals = last!.totals!
    const stuck = last!.stuck ?? ['the server never reported its stuck runs']
    const verdict = judge({ samples, checks, totals, stuck, faults })
    const report: SoakReport = { minutes, seed, samples, checks, totals, stuck, faults, verdict }
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'soak.json'), `${JSON.stringify(report)}\n`)
    writeFileSync(join(folder, 'soak.html'), pageOf(report))
    return report
  } finally {
    await server.kill()
    rmSync(home, { recursive: true, force: true })
  }
}

type ServerOptions = { home: string; seed: number; minutes: number; hear(line: SoakMessage): void }

function startServer({ home, seed, minutes, hear }: ServerOptions) {
  const sampleMs = minutes < 1 ? 500 : Math.max(2_000, (minutes * 60_000) / MOST_SAMPLES)
  const child = spawn(process.execPath, ['--expose-gc', WORKER], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      HOLDFAST_HOME: home,
      HOLDFAST_APPROVAL_DAYS: APPROVAL_DAYS,
      DATABASE_URL: '',
      SOAK_SEED: String(seed),
      SOAK_SAMPLE_MS: String(sampleMs),
    },
  })
  let errors = ''
  const said = new Map<string, PromiseWithResolvers<void>>()
  const saying = (what: string) => {
    const known = said.get(what) ?? Promise.withResolvers<void>()
    said.set(what, known)
    return known
  }
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-4_000)
  })
  // A server that died early does not read its commands.
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as SoakMessage
    hear(line)
    saying(line.what).resolve()
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  const within = async (event: Promise<void>, ms: number): Promise<void> => {
    const over = new AbortController()
    await Promise.race([event, exited, sleep(ms, undefined, { signal: over.signal }).catch(() => {})])
    over.abort()
  }

  return {
    errors: () => errors,
    async heard(what: string) {
      await within(saying(what).promise, DRAIN_MS)
      if (isOver()) throw new Error(`the soak server exited: ${errors}`)
    },
    async livesFor(ms: number): Promise<boolean> {
      await within(new Promise(() => {}), Math.max(0, ms * 1_000))
      return !isOver()
    },
    async drain(): Promise<boolean> {
      child.stdin.write('drain\n')
      await within(exited, DRAIN_MS)
      return child.exitCode === 0
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Checks every invariant on the live database, as a guest of the running server, like `holdfast doctor`. */
async function check(home: string, at: number): Promise<Check> {
  const app = await openApp({ environment: { HOLDFAST_HOME: home }, role: 'guest' })
  try {
    const began = performance.now()
    const { runs, messages, violations } = await checkStore(app.context)
    const seconds = (performance.now() - began) / 1_000
    const broken = violations.map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`)
    return { at, seconds, runs, messages, violations: broken }
  } finally {
    await app.close()
  }
}

function sizesIn(home: string): Pick<Sample, 'database' | 'log' | 'chunks'> {
  const size = (name: string) => statSync(join(home, name), { throwIfNoEntry: false })?.size ?? 0
  const log = size('holdfast.db-wal') + size('chunks.db-wal')
  return { database: size('holdfast.db'), chunks: size('chunks.db'), log }
}
