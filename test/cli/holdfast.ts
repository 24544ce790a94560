import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { defined } from '../../src/core/defined.ts'
import { missingProgram } from '../harness/programs.ts'

/** Built by the test command; a file that is run by itself has the source. */
const MAIN = process.env.HOLDFAST_COMMAND ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export type CliResult = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type CliProcess = {
  child: ChildProcessWithoutNullStreams
  /** Resolves when the output holds the text; rejects if the process ends without it. */
  waitForText(text: string): Promise<void>
  type(text: string): void
  ended: Promise<CliResult>
}

/** Where the program runs: nothing of the tester's own environment is there but the path. */
export type CliLocation = { home: string; environment?: Record<string, string> }

/** A home of its own for one test, removed with it. */
export function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** The real program, from beginning to end. */
export function holdfast(args: string[], options: CliLocation & { input?: string }): Promise<CliResult> {
  const { child, ended } = startHoldfast(args, options)
  child.stdin.end(options.input ?? '')
  return ended
}

export const startHoldfast = (args: string[], location: CliLocation): CliProcess =>
  started(spawn(process.execPath, [MAIN, ...args], { env: environmentFor(location) }))

/** A server of this home that listens on any port; commands find it by themselves. */
export async function startServing(home: string, environment: Record<string, string> = {}): Promise<CliProcess> {
  const server = startHoldfast(['serve', '--port', '0'], { home, environment })
  await server.waitForText('Try it:')
  return server
}

/** The program on a pseudo terminal, so that it believes a person sits there. */
export function startAtTerminal(args: string[], location: CliLocation): CliProcess {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
  return started(
    spawn('script', ['-qefc', command, '/dev/null'], { env: { ...environmentFor(location), TERM: 'xterm' } }),
  )
}

/** False where it can run; otherwise why not, for the test's `skip`. */
export const lacksTerminal = missingProgram('script')

const environmentFor = ({ home, environment }: CliLocation): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOLDFAST_HOME: home,
  ...defined({ NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || undefined }),
  ...environment,
})

/** A test that fails in the middle must not leave a process waiting for input. */
const running = new Set<ChildProcessWithoutNullStreams>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

function started(child: ChildProcessWithoutNullStreams): CliProcess {
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
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  const waitForText = (text: string) =>
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
  return { child, waitForText, ended, type: (text) => void child.stdin.write(text) }
}
