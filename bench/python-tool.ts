import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { realClock } from '../src/config/real-clock.ts'
import { sha256 } from '../src/config/sha256.ts'
import { DEFAULT_ORGANIZATION } from '../src/core/id.ts'
import type { StoredTool } from '../src/core/stored-tool.ts'
import type { Tool } from '../src/ports/tool.ts'
import { newSourceTools } from '../src/tools/custom/source-tools.ts'
import { newWorkspaces } from '../src/workspaces/workspaces.ts'
import type { BenchRunner } from './bench-runner.ts'
import type { Size } from './benchmarks.ts'
import { type Figure, median, show } from './figures.ts'

const QUOTA = { diskBytes: 1 << 30, memoryBytes: 1 << 30, processes: 128 }
const PYTHON = '/usr/bin/python3'

const DOUBLE: StoredTool = {
  id: `tool-${randomUUID()}`,
  organizationId: DEFAULT_ORGANIZATION,
  name: 'double',
  description: '',
  toolType: 'custom',
  sourceType: 'python',
  sourceCode: 'def double(number: int) -> int:\n    return 2 * number\n',
  jsonSchema: { parameters: { type: 'object', properties: { number: { type: 'integer' } } } },
  tags: [],
  returnCharLimit: 50_000,
  needsApproval: false,
  parallel: false,
  wire: {},
  createdAt: 0,
  updatedAt: 0,
}

/** What a call of a Python tool costs beside the start of Python: the first one opens the sandbox. */
export async function pythonTool(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const isMissing = (await failsToRun('bwrap', ['--version'])) || (await failsToRun(PYTHON, ['--version']))
  if (isMissing) {
    process.stderr.write(`bubblewrap or ${PYTHON} is not installed: the python-tool benchmark is skipped\n`)
    return []
  }
  const folder = runner.folder()
  const report = (fault: unknown) => process.stderr.write(`${fault}\n`)
  const sandbox = { containment: 'bubblewrap' as const, quota: QUOTA, egress: [] }
  const workspaces = newWorkspaces({ folder, clock: realClock, sandbox, report })
  const refuse = () => Promise.reject(new Error('no packages'))
  const tool = newSourceTools({
    workspaces,
    containment: 'bubblewrap',
    clock: realClock,
    digest: sha256,
    packages: { of: async () => undefined, add: refuse, remove: refuse },
    agentOf: async () => undefined,
    secretsOf: async () => ({}),
    blocksOf: async () => [],
    timeoutSeconds: 60,
  }).toTool(DOUBLE)
  const rounds = size === 'quick' ? 20 : 200
  const times = { first: [] as number[], later: [] as number[], plain: [] as number[] }
  const opened: `conv-${string}`[] = []
  try {
    for (let round = 0; round < (size === 'quick' ? 3 : 10); round++) {
      const conversationId = `conv-${randomUUID()}` as const
      opened.push(conversationId)
      times.first.push(await timed(() => call(tool, conversationId)))
    }
    for (let round = 0; round < rounds; round++) {
      times.plain.push(await timed(plainPython))
      times.later.push(await timed(() => call(tool, opened[0]!)))
    }
  } finally {
    for (const conversationId of opened) await workspaces.remove(conversationId)
    await workspaces.close()
    rmSync(folder, { recursive: true, force: true })
  }
  const [first, later, plain] = [median(times.first), median(times.later), median(times.plain)]
  const detail = (ms: number) => `${show(ms)} ms, against ${show(plain)} ms for python3 -c`
  return [
    { name: 'python_first_ms', value: first - plain, detail: detail(first) },
    { name: 'python_later_ms', value: later - plain, detail: detail(later) },
  ]
}

async function call(tool: Tool, conversationId: `conv-${string}`): Promise<void> {
  const { output } = await tool.run(
    { number: 21 },
    {
      signal: new AbortController().signal,
      idempotencyKey: randomUUID(),
      progress: () => undefined,
      agentId: `agent-${randomUUID()}`,
      conversationId,
      runId: `run-${randomUUID()}`,
      callId: 'call-1',
    },
  )
  if (output !== '42') throw new Error(`the tool answered ${output}`)
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const failsToRun = (program: string, parameters: string[]): Promise<boolean> =>
  new Promise((resolve) => execFile(program, parameters, (fault) => resolve(Boolean(fault))))

const plainPython = (): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(PYTHON, ['-c', 'pass'], (fault) => (fault ? reject(fault) : resolve()))
  })
