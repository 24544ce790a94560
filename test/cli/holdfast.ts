import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { lacks } from '../harness/programs.ts'

/** Built by the test command; a file that is run by itself has the source. */
const MAIN = process.env.HOLDFAST_COMMAND ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type Started = {
  child: ChildProcessWithoutNullStreams
  /** Resolves when the output holds the text; rejects if the process ends without it. */
  saw(text: string): Promise<void>
  type(text: string): void
  ended: Promise<Ended>
}

/** Where the program runs: nothing of the tester's own environment is there but the path. */
export type Place = { home: string; environment?: Record<string, string> }

/** A home of its own for one test, removed with it. */
export function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** The real program, from beginning to end. */
export function holdfast(args: string[], options: Place & { input?: string }): Promise<Ended> {
  const { child, ended } = startHoldfast(args, options)
  child.stdin.end(options.input ?? '')
  return ended
}

export const startHoldfast = (args: string[], place: Place): Started =>
  started(spawn(process.execPath, [MAIN, ...args], { env: environmentFor(place) }))

/** A server of this home that listens on any port; commands find it by themselves. */
export async function startServing(home: string, environment: Record<string, string> = {}): Promise<Started> {
  const server = startHoldfast(['serve', '--port', '0'], { home, environment })
  await server.saw('Try it:')
  return server
}

/** The program on a pseudo terminal, so that it believes a person sits there. */
export function startAtTerminal(args: string[], place: Place): Started {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
  return started(spawn('script', ['-qefc', command, '/dev/null'], { env: { ...environmentFor(place), TERM: 'xterm' } }))
}

/** False where it can run; otherwise why not, for the test's `skip`. */
export const lacksTerminal = lacks('script')

const environmentFor = ({ home, environment }: Place): NodeJS.ProcessEnv => ({
  ...{ PATH: process.env.PATH, HOLDFAST_HOME: home },
  ...(process.env.NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE } : {}),
  ...environment,
})

/** A test that fails in the middle must not leave a process waiting for input. */
const running = new Set<ChildProcessWithoutNullStreams>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

function started(child: ChildProcessWithoutNullStreams): Started {
  running.add(child)
  child.once('close', () => running.delete(child))
  let stdout = ''
  let stderr = ''
  const listeners = new Set<() => void>()
  const hear = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
    hear()
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
    hear()
  })
  // A program that ends early does not read the rest of its input.
  child.stdin.on('error', () => {})
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  const saw = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!(stdout + stderr).includes(text)) return
        listeners.delete(look)
        resolve()
      }
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(`"${text}" was never seen. stdout: ${stdout} stderr: ${stderr}`)))
    })
  return { child, saw, ended, type: (text) => void child.stdin.write(text) }
}
