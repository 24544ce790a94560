import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { realClock } from '../src/config/real-clock.ts'
import type { Workspace } from '../src/ports/workspaces.ts'
import { newWorkspaces } from '../src/workspaces/workspaces.ts'
import type { BenchRunner } from './bench-runner.ts'
import type { Size } from './benchmarks.ts'
import { type Figure, median, show } from './figures.ts'

/** The allowed overhead of a sandbox. */
const ALLOWANCE_MS = 30
const QUOTA = { diskBytes: 1 << 30, memoryBytes: 1 << 30, processes: 128 }

/** A command in the sandbox, from start to the end of its output, against a plain spawn of the same command. */
export async function shell(runner: BenchRunner, size: Size): Promise<Figure[]> {
  if (!(await hasBubblewrap())) {
    process.stderr.write('bubblewrap is not installed: the shell benchmark is skipped\n')
    return []
  }
  const folder = runner.folder()
  const report = (fault: unknown) => process.stderr.write(`${fault}\n`)
  const sandbox = { containment: 'bubblewrap' as const, quota: QUOTA, egress: [] }
  const workspaces = newWorkspaces({ folder, clock: realClock, sandbox, report })
  const conversationId = `conv-${randomUUID()}` as const
  try {
    const from = performance.now()
    const workspace = await workspaces.open(conversationId)
    await commandIn(workspace)
    const first = performance.now() - from
    const times = { ours: [] as number[], plain: [] as number[] }
    for (let round = 0; round < (size === 'quick' ? 20 : 200); round++) {
      times.plain.push(await timed(plainCommand))
      times.ours.push(await timed(() => commandIn(workspace)))
    }
    const [ours, plain] = [median(times.ours), median(times.plain)]
    const detail = `${show(ours)} ms less ${ALLOWANCE_MS} ms / ${show(plain)} ms; the first one, with its sandbox, ${show(first)} ms`
    return [{ name: 'shell_ratio', value: Math.max(0, ours - ALLOWANCE_MS) / plain, detail }]
  } finally {
    await workspaces.remove(conversationId)
    await workspaces.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const hasBubblewrap = (): Promise<boolean> =>
  new Promise((resolve) => execFile('bwrap', ['--version'], (fault) => resolve(!fault)))

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const COMMAND = 'echo hello'

async function commandIn(workspace: Workspace): Promise<void> {
  const request = { key: randomUUID(), command: COMMAND, runId: `run-${randomUUID()}` as const, background: false }
  const { processId } = await workspace.start(request)
  await workspace.wait(processId, AbortSignal.timeout(10_000))
  const { text } = await workspace.output(processId, { last: 100 })
  if (text !== 'hello\n') throw new Error(`the command printed ${JSON.stringify(text)}`)
}

const plainCommand = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', COMMAND], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.once('error', reject)
    child.once('close', () => resolve())
  })
