import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SeedLine } from './report-seeds.ts'

export type SeedsOptions = {
  from: number
  to: number
  workers?: number
  /** `stop`: ends at the first violation. */
  onViolation?: 'stop' | 'continue'
  /** Every n-th seed is run twice and must give the same story. 0: none. */
  repeatEvery?: number
  /** The worker script; for planted bugs that of the patched copy. */
  worker?: string
  /** For the workers. */
  environment?: Record<string, string>
  /**
   * A seed takes a fraction of a second; a worker that computes for this long without output is in an endless loop. On
   * a busy machine a worker may wait long for its processor: that does not count.
   */
  silenceMs?: number
  onSeed?(done: number): void
  /** Called for each failing seed at once. */
  onFound?(found: Found): void
}

export type Found = { seed: number; violations: string[] }

export type SeedsReport = {
  seeds: number
  events: number
  runs: number
  repeated: number
  ms: number
  /** Processor time of the seeds alone, for the rate per core. */
  cpuMs: number
  faults: Record<string, number>
  reached: Record<string, number>
  /** Violations by seed, lowest first. */
  violations: Found[]
}

/** Rare states that a lab run must reach. */
export const RARE_STATES = [
  'crash between intent and effect',
  'crash between effect and result',
  'lease lost while a tool runs',
  "cancel during an approval's commit",
  'resume at the last number',
  'commit-unknown on intake',
  'two processes racing to recover one run',
  'an explicit compaction behind an open call',
  'a crash between a failed attempt and the next',
  'a takeover in the middle of a ladder',
  'a cooldown obeyed by another process',
  'a fallback answers after its primary died in mid-answer',
  'a verdict comes too late',
  'an answer after the window was found out within the turn',
  'a summary written in several requests',
  'a fallback answers with a summary made for its smaller window',
  'an answer to a request that was cut to fit',
] as const

export const neverReached = (reached: Record<string, number>): string[] =>
  RARE_STATES.filter((state) => !reached[state])

export const seedsPerCoreMinute = ({ seeds, cpuMs }: SeedsReport): number =>
  cpuMs > 0 ? Math.round((seeds / cpuMs) * 60_000) : 0

/** Overlapping transactions and readers of the feed of changes. */
export const FEED_WORKER = fileURLToPath(new URL('./feed-seed-worker.ts', import.meta.url))

/** Simulated imports. */
export const IMPORT_WORKER = fileURLToPath(new URL('./import-seed-worker.ts', import.meta.url))

const WORKER = fileURLToPath(new URL('./seed-worker.ts', import.meta.url))
const SILENCE_MS = 60_000
/** A worker that waits and does not compute is given up after this many times the limit. */
const LONGEST_WAIT = 10
const TICKS = 10
/** Seeds per process: promises of dead simulated processes never settle and stay in memory until it ends. */
const STRETCH = 500

/** Runs seeds in child processes, `workers` at a time, and adds up their reports. */
export async function runSeeds(options: SeedsOptions): Promise<SeedsReport> {
  const { from, to, workers = 1, onViolation = 'continue', repeatEvery = 100, worker = WORKER } = options
  const { silenceMs = SILENCE_MS } = options
  const env = Object.assign({}, process.env, options.environment)
  const started = performance.now()
  const report: SeedsReport = {
    seeds: 0,
    events: 0,
    runs: 0,
    repeated: 0,
    ms: 0,
    cpuMs: 0,
    faults: {},
    reached: {},
    violations: [],
  }
  const children: ChildProcess[] = []
  const take = (line: SeedLine) => {
    report.seeds++
    report.events += line.events
    report.runs += line.runs
    report.cpuMs += line.cpuMs
    addUp(report.faults, line.faults)
    addUp(report.reached, line.reached)
    const { seed, violations, isRepeatable } = line
    if (isRepeatable !== undefined) report.repeated++
    if (isRepeatable === false) violations.push('the second run of this seed gave another story')
    if (violations.length > 0) {
      report.violations.push({ seed, violations })
      options.onFound?.({ seed, violations })
    }
    options.onSeed?.(report.seeds)
    if (violations.length > 0 && onViolation === 'stop') for (const child of children) child.kill('SIGKILL')
  }
  const isOver = () => onViolation === 'stop' && report.violations.length > 0
  const finished = Array.from({ length: workers }, async (_, index) => {
    for (let next = from + index; next <= to && !isOver(); next += STRETCH * workers) {
      const last = Math.min(to, next + STRETCH * workers - 1)
      const range = [next, last, workers, repeatEvery].map(String)
      const child = spawn(process.execPath, [worker, ...range], { stdio: ['ignore', 'pipe', 'pipe'], env })
      children.push(child)
      await followChild(child, { next, step: workers, to: last, take, silenceMs })
    }
  })
  await Promise.all(finished)
  report.violations.sort((one, other) => one.seed - other.seed)
  report.ms = performance.now() - started
  return report
}

type Follow = { next: number; step: number; to: number; take(line: SeedLine): void; silenceMs: number }

/** Resolves when the child has ended. A crash or silence counts as a violation of the current seed. */
function followChild(child: ChildProcess, { next, step, to, take, silenceMs }: Follow): Promise<void> {
  let errors = ''
  let isSilent = false
  child.stderr!.on('data', (text) => {
    errors += text
  })
  let computedMs = processorMs(child.pid)
  // Counted in ticks: the time in which this process is stopped does not count.
  let silentTicks = 0
  const watch = setInterval(() => {
    const busyMs = processorMs(child.pid) - computedMs
    if (busyMs < silenceMs && ++silentTicks < LONGEST_WAIT * TICKS) return
    isSilent = true
    child.kill('SIGKILL')
  }, silenceMs / TICKS)
  let at = next
  const lines = createInterface({ input: child.stdout! })
  lines.on('line', (line) => {
    computedMs = processorMs(child.pid)
    silentTicks = 0
    const report = JSON.parse(line) as SeedLine
    at = report.seed + step
    take(report)
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearInterval(watch)
      const wasStopped = signal === 'SIGKILL' && !isSilent
      if (!wasStopped && at <= to) take({ ...EMPTY_REPORT, seed: at, violations: [crashText(isSilent, code, errors)] })
      resolve()
    })
  })
}

/** Processor time of a process; where it cannot be read, a worker may be silent for several times as long. */
function processorMs(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name is in parentheses and may hold any character; user and system time follow in hundredths of a second.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return 0
  }
}

const EMPTY_REPORT = { hash: '', events: 0, runs: 0, cpuMs: 0, faults: {}, reached: {} }

const crashText = (isSilent: boolean, code: number | null, errors: string): string =>
  isSilent ? `I13 the simulator did not end` : `the simulator broke (${code}): ${errors.slice(0, 2_000)}`

function addUp(sum: Record<string, number>, more: Record<string, number>): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count
}
