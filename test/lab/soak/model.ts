import type { Part } from '../../../src/core/answer.ts'
import type { FailureKind } from '../../../src/core/failure.ts'
import type { ModelProvider } from '../../../src/ports/model.ts'
import type { Tool } from '../../../src/ports/tool.ts'
import { lastInput, sinceInput } from '../../../src/providers/scripted/current-turn.ts'
import { defineTool, success } from '../../../src/tools/define-tool.ts'

/** Scenarios for the model, with their weights. */
export const SCENARIOS = {
  plain: 30,
  tools: 14,
  parallel: 12,
  guarded: 10,
  long: 12,
  huge: 3,
  /** The first target always fails; the second answers. */
  fallback: 6,
  /** Both fail. */
  broken: 4,
  /** Nothing comes for a while, then a timeout. */
  stall: 4,
} as const

export type SoakScenario = keyof typeof SCENARIOS

const STALL_MS = 400
const HUGE = 'All work and no play makes a long output. '.repeat(7_000)

const call = (index: number, tool: string): Part[] => [
  { type: 'call-start', index, callId: '', tool },
  { type: 'call-delta', index, json: JSON.stringify({ index }) },
]

const CALLS: Partial<Record<SoakScenario, Part[][]>> = {
  tools: [[...call(0, 'write'), ...call(1, 'look')], call(0, 'write')],
  parallel: [[0, 1, 2, 3].flatMap((index) => call(index, 'look'))],
  guarded: [[...call(0, 'guarded'), ...call(1, 'look')]],
  huge: [call(0, 'dump')],
}

const FAILURES: Partial<Record<SoakScenario, { kind: FailureKind; targets: string[] }>> = {
  fallback: { kind: 'auth-rejected', targets: ['first'] },
  broken: { kind: 'quota-exhausted', targets: ['first', 'second'] },
  stall: { kind: 'timeout', targets: ['first', 'second'] },
}

const words = (count: number): Part[] =>
  Array.from({ length: count }, (_, index): Part => ({ type: 'text-delta', text: `word ${index} ` }))

export const soakModel: ModelProvider = {
  async *stream({ model, messages }, { signal }): AsyncGenerator<Part> {
    const scenario = lastInput(messages) as SoakScenario
    const step = sinceInput(messages).filter((body) => body.role === 'assistant').length
    const failure = FAILURES[scenario]
    if (failure?.targets.includes(model)) {
      yield* words(2)
      if (scenario === 'stall') await pause(STALL_MS, signal)
      yield { type: 'failure', failure: { kind: failure.kind, detail: `the soak requested ${scenario}` } }
      return
    }
    const parts = CALLS[scenario]?.[step] ?? words(scenario === 'long' ? 120 : 8)
    for (const [index, part] of parts.entries()) {
      if (signal.aborted) return
      yield part
      if (index % 4 === 0) await pause(1, signal)
    }
    yield { type: 'usage', usage: { promptTokens: messages.length, completionTokens: parts.length } }
    yield { type: 'finish', finish: parts.some((part) => part.type === 'call-start') ? 'tool-calls' : 'stop' }
  },
}

export function soakTools(): Tool[] {
  const inputSchema = { type: 'object' }
  const describe = (name: string) => ({ name, description: `${name} for the soak`, inputSchema })
  const work = async (_: unknown, { signal }: { signal: AbortSignal }) => {
    await pause(3, signal)
    return success('done')
  }
  return [
    defineTool({ ...describe('look'), effects: 'none', parallel: true, run: work }),
    defineTool({ ...describe('write'), run: work }),
    defineTool({ ...describe('guarded'), needsApproval: true, run: work }),
    defineTool({ ...describe('dump'), effects: 'none', run: async () => success(HUGE) }),
  ]
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
    if (signal.aborted) finish()
  })
}
