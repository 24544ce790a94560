import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  /** Resolves when the output so far satisfies the condition; rejects if the process ends before. */
  waitUntil(isThere: (output: string) => boolean, what: string): Promise<void>
  type(text: string): void
  ended: Promise<CliResult>
}

/** Home and environment of the process. Of the environment of the tests it gets only PATH. */
export type CliLocation = {
  home: string
  environment?: Record<string, string>
  /** The working directory. Default: that of the tests. */
  cwd?: string
}

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
  started(
    spawn(process.execPath, [MAIN, ...args], { env: environmentFor(location), ...defined({ cwd: location.cwd }) }),
  )

/** Starts a server for this home on a free port; commands find it through the home. */
export async function startServing(home: string, environment: Record<string, string> = {}): Promise<CliProcess> {
  const server = startHoldfast(['serve', '--port', '0'], { home, environment })
  await server.waitForText('Try it:')
  return server
}

/** Starts the program on a pseudo terminal. Before it begins and after it ended, the settings of the terminal are printed. */
export function startAtTerminal(args: string[], options: TerminalLocation): CliProcess {
  const { size = DEFAULT_SIZE, pipedTo, ...location } = options
  const program = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
  const { columns, rows } = size
  const named = `(sh -c 'echo $PPID' > "$HOLDFAST_HOME/terminal-pid"; exec ${program})${pipedTo ? ` | ${pipedTo}` : ''}`
  const command = `stty cols ${columns} rows ${rows}; ${named}; code=$?; stty -a | grep -o -- '-*icanon'; exit $code`
  return started(
    spawn('script', ['-qefc', command, '/dev/null'], { env: { TERM: 'xterm', ...environmentFor(location) } }),
  )
}

/** The process of the program at the terminal of this home: `child` is the terminal itself. */
export const pidAtTerminal = (home: string): number => Number(readFileSync(join(home, 'terminal-pid'), 'utf8'))

type TerminalLocation = CliLocation & {
  size?: { columns: number; rows: number }
  /** A command that reads the output of the program. */
  pipedTo?: string
}

const DEFAULT_SIZE = { columns: 100, rows: 30 }

/** False if a pseudo terminal is available, otherwise the reason for `skip`. */
export const lacksTerminal = missingProgram('script')

const environmentFor = ({ home, environment }: CliLocation): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOLDFAST_HOME: home,
  ...defined({ NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || undefined }),
  ...environment,
})

/** A guard against a hang, for a busy machine. */
const WAIT_MS = 120_000

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
  const waitUntil = (isThere: (output: string) => boolean, what: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!isThere(stdout + stderr)) return
        listeners.delete(look)
        clearTimeout(late)
        resolve()
      }
      const late = setTimeout(
        () => reject(new Error(`${what} did not appear. The end of the output: ${(stdout + stderr).slice(-2_000)}`)),
        WAIT_MS,
      ).unref()
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(`${what} did not appear. stdout: ${stdout} stderr: ${stderr}`)))
    })
  const waitForText = (text: string) => waitUntil((output) => output.includes(text), `"${text}"`)
  return { child, waitForText, waitUntil, ended, type: (text) => void child.stdin.write(text) }
}
