import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SideFailed } from '../bench-runner.ts'

export const KEY = 'bench-key-that-is-long-enough-for-the-server'

export type Running = { url: string; pid: number; stop(): Promise<void> }

const dist = process.env.BENCH_DIST ?? new URL('../../bench-dist/', import.meta.url).href
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export const startModel = (): Promise<Running> => start([script('model.ts')], {})

export const startRelay = (model: string): Promise<Running> => start([script('bare.ts'), 'relay', model], {})

export const startFastify = (file: string): Promise<Running> => start([script('bare.ts'), 'fastify', file], {})

export type StartHoldfastOptions = { home: string; model: string; durability: 'relaxed' | 'strict' }

/** The flags of `npm start`: without them the young generation of V8 grows to 100 MB and more under load. */
const startFlags = (): string[] => {
  const { scripts } = JSON.parse(readFileSync(script('../../package.json'), 'utf8')) as { scripts: { start: string } }
  return scripts.start.split(' ').filter((word) => word.startsWith('--'))
}

/** The compiled server, as shipped. */
export const startHoldfast = ({ home, model, durability }: StartHoldfastOptions): Promise<Running> =>
  start([...startFlags(), fileURLToPath(new URL('main.js', dist)), 'serve', '--port', '0'], {
    HOLDFAST_HOME: home,
    HOLDFAST_DURABILITY: durability,
    HOLDFAST_API_KEY: KEY,
    OPENAI_BASE_URL: model,
    OPENAI_API_KEY: 'bench',
  })

/** Child processes that must not outlive this one. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

async function start(command: string[], environment: Record<string, string>): Promise<Running> {
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', process.env.BENCH_NOISE ? 'inherit' : 'ignore'],
    env: { PATH: process.env.PATH, ...environment },
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  const url = await addressOf(child)
  return {
    url,
    pid: child.pid!,
    stop: () =>
      new Promise((resolve) => {
        child.once('close', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+(\/v1)?/.exec(line) ?? []
    if (url) return url
  }
  throw new SideFailed('a process of the server part did not start')
}

/** CPU time of a process so far, user and system, in milliseconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

const MS_PER_TICK = 10

export const residentBytes = (pid: number): number =>
  1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
