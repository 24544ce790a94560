import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { defined } from '../../src/core/defined.ts'
import { missingProgram } from '../harness/programs.ts'

/** The bundle that the test command builds; a test file that is run alone uses the source. */
const MAIN = process.env.HOLDFAST_COMMAND ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export type CliResult = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type CliProcess = {
  child: ChildProcessWithoutNullStreams
  /** Resolves when the output contains the text; rejects if the process ends without it. */
  waitForText(text: string): Promise<void>
  type(text: string): void
  ended: Promise<CliResult>
}

/** Home and environment of the process. Of the environment of the tests it gets only PATH. */
export type CliLocation = { home: string; environment?: Record<string, string> }

/** A home for one test, removed after it. */
export function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Runs the real program to its end. */
export function holdfast(args: string[], options: CliLocation & { input?: string }): Promise<CliResult> {
  const { child, ended } = startHoldfast(args, options)
  child.stdin.end(options.input ?? '')
  return ended
}

export const startHoldfast = (args: string[], location: CliLocation): CliProcess =>
  started(spawn(process.execPath, [MAIN, ...args], { env: environmentFor(location) }))

/** Starts a server for this home on a free port; commands find it through the home. */
export async function startServing(home: string, environment: Record<string, string> = {}): Promise<CliProcess> {
  const server = startHoldfast(['serve', '--port', '0'], { home, environment })
  await server.waitForText('Try it:')
  return server
}

/** Starts the program on a pseudo terminal. */
export function startAtTerminal(args: string[], location: CliLocation): CliProcess {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
  return started(
    spawn('script', ['-qefc', command, '/dev/null'], { env: { ...environmentFor(location), TERM: 'xterm' } }),
  )
}

/** False if a pseudo terminal is available, otherwise the reason for `skip`. */
export const lacksTerminal = missingProgram('script')

const environmentFor = ({ home, environment }: CliLocation): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOLDFAST_HOME: home,
  ...defined({ NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || undefined }),
  ...environment,
})

/** Kills processes that a failed test left waiting for input. */
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
      void ended.then(() => reject(new Error(`"${text}" did not appear. stdout: ${stdout} stderr: ${stderr}`)))
    })
  return { child, waitForText, ended, type: (text) => void child.stdin.write(text) }
}
