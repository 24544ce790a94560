import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { defined } from '../../../src/core/defined.ts'
import type { WorkerReport } from './check.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
/** Compile cache shared by thousands of starts from source. */
const COMPILED = fileURLToPath(new URL('../../../node_modules/.cache/holdfast-tests', import.meta.url))
const REPORT_TIMEOUT_MS = 90_000

export type LifeOptions = {
  home: string
  effects: string
  seed: number
  killAt?: string
  databaseUrl?: string
  conversations?: number
  ownConversations?: number
  durability?: 'strict' | 'relaxed'
  /** Another worker script, with its environment. */
  worker?: string
  environment?: Record<string, string>
  onReport(line: WorkerReport): void
}

export type Life = ReturnType<typeof startLife>

/** Starts one worker process. Its reports are kept, so that a caller can wait for a past one, too. */
export function startLife(options: LifeOptions) {
  const child: ChildProcess = spawn(process.execPath, [options.worker ?? WORKER], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...environmentOf(options), ...options.environment },
  })
  let errors = ''
  let isOver = false
  const heard: WorkerReport[] = []
  const listeners = new Set<(line: WorkerReport) => void>()
  child.stderr!.on('data', (text) => {
    errors = (errors + text).slice(-4_000)
  })
  child.stdin!.on('error', () => {
    // The process died before it read the command, as intended.
  })
  createInterface({ input: child.stdout! }).on('line', (text) => {
    const line = parseReport(text)
    if (!line) return
    options.onReport(line)
    if (line.what !== 'saw') heard.push(line)
    for (const listener of [...listeners]) listener(line)
  })
  const exited = new Promise<void>((resolve) => {
    child.on('close', () => {
      isOver = true
      resolve()
    })
  })

  return {
    exited,
    pid: () => child.pid!,
    isOver: () => isOver,
    /** Killed at its kill point or by the harness, and not by a bug. */
    isKilled: () => child.signalCode === 'SIGKILL',
    /** Exit code or signal, with the last output on stderr. */
    ending: () => `with ${child.signalCode ?? child.exitCode}: ${errors || 'no output'}`,
    /** The report, past or future; undefined if the process ended or the time is up. */
    async hears(what: string, { withinMs = REPORT_TIMEOUT_MS, from = 0 } = {}): Promise<WorkerReport | undefined> {
      const known = heard.slice(from).find((line) => line.what === what)
      if (known) return known
      const { promise, resolve } = Promise.withResolvers<WorkerReport | undefined>()
      const listen = (line: WorkerReport) => line.what === what && resolve(line)
      const timer = setTimeout(() => resolve(undefined), withinMs)
      listeners.add(listen)
      void exited.then(() => resolve(undefined))
      const line = await promise
      clearTimeout(timer)
      listeners.delete(listen)
      return line
    },
    /** For `hears({ from })`: only reports after this moment. */
    now: () => heard.length,
    async endsWithin(ms: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, ms)
      await Promise.race([exited, promise])
      clearTimeout(timer)
      return isOver
    },
    order: (order: 'drain' | 'stop' | 'fill' | 'make-room') => child.stdin!.write(`${order}\n`),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    errors: () => errors.slice(-2_000),
  }
}

function environmentOf(options: LifeOptions): Record<string, string> {
  const { home, effects, seed, killAt, databaseUrl, conversations, ownConversations, durability = 'relaxed' } = options
  return {
    HOLDFAST_HOME: home,
    HOLDFAST_DURABILITY: durability,
    KILL_EFFECTS: effects,
    KILL_SEED: String(seed),
    ...defined({
      KILL_AT: killAt || undefined,
      DATABASE_URL: databaseUrl || undefined,
      KILL_PLACES: conversations !== undefined ? String(conversations) : undefined,
      KILL_OWN_PLACES: ownConversations !== undefined ? String(ownConversations) : undefined,
    }),
  }
}

/** The last line of a killed process may be incomplete. */
function parseReport(line: string): WorkerReport | undefined {
  try {
    return JSON.parse(line) as WorkerReport
  } catch {
    return undefined
  }
}
