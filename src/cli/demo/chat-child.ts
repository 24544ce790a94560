import { spawn } from 'node:child_process'
import type { Stage } from './stage.ts'

type ChildEnd = { code: number | null; signal: NodeJS.Signals | null; output: string }

type ChatChildOptions = {
  input: string
  /** Called with all output so far; true kills the child. */
  shouldKill?(output: string): boolean
}

/** Runs `holdfast chat` as a child process on the home of the demo and prints its output, each line after a bar. */
export function runChat({ home, environment, out }: Stage, { input, shouldKill }: ChatChildOptions): Promise<ChildEnd> {
  const script = process.argv[1]!
  const child = spawn(process.execPath, [...process.execArgv, script, 'chat'], {
    env: { ...environment, HOLDFAST_HOME: home },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { dim } = out.look.paint
  let output = ''
  let isLineStart = true
  const show = (text: string) => {
    if (child.killed) return
    for (const line of text.split(/(?<=\n)/)) {
      out.write(isLineStart ? `${dim('│')} ${line}` : line)
      isLineStart = line.endsWith('\n')
    }
    output += text
    if (shouldKill?.(output)) child.kill('SIGKILL')
  }
  child.stdout.setEncoding('utf8').on('data', show)
  child.stderr.setEncoding('utf8').on('data', show)
  // A killed child does not read the rest of its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const stopChild = () => void child.kill('SIGKILL')
  process.once('exit', stopChild)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      process.off('exit', stopChild)
      if (!isLineStart) out.line()
      resolve({ code, signal, output })
    })
  })
}
