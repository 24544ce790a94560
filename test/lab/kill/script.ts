import type { Part } from '../../../src/core/answer.ts'
import { textOf } from '../../../src/core/message.ts'
import type { ModelProvider, ModelRequest } from '../../../src/ports/model.ts'
import { lastInput, sinceInput } from '../../../src/providers/scripted/current-turn.ts'

const call = (index: number, tool: string, input: string): Part[] => [
  { type: 'call-start', index, callId: '', tool },
  { type: 'call-delta', index, json: input },
]

const answerOf = (scenario: string, step: number): Part[] => {
  const input = JSON.stringify({ wish: scenario, step })
  if (step === 0 && scenario.endsWith('tools')) return [...call(0, 'once', input), ...call(1, 'again', input)]
  if (step === 0 && scenario.endsWith('parallel'))
    return [0, 1, 2].flatMap((index) => call(index, 'again', JSON.stringify({ wish: scenario, index })))
  if (step === 0 && scenario.endsWith('guarded')) return [...call(0, 'guarded', input), ...call(1, 'again', input)]
  if (step === 1 && scenario.endsWith('tools')) return call(0, 'once', input)
  const words = scenario.endsWith('long') ? 60 : 6
  return Array.from({ length: words }, (_, index): Part => ({ type: 'text-delta', text: `${scenario}:${index} ` }))
}

/** The model of the kill harness: a pure function of the request, so that every life gives the same answer. */
export const killScript: ModelProvider = {
  async *stream(request: ModelRequest, { signal }): AsyncGenerator<Part> {
    const scenario = scenarioOf(request)
    const steps = sinceInput(request.messages).filter((body) => body.role === 'assistant').length
    if (scenario.endsWith('fail')) {
      yield { type: 'text-delta', text: 'this will fail' }
      yield { type: 'failure', failure: { kind: 'auth-rejected', detail: 'the lab revoked it' } }
      return
    }
    const parts = answerOf(scenario, steps)
    for (const part of parts) {
      if (signal.aborted) return
      yield part
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    yield { type: 'usage', usage: { promptTokens: 10, completionTokens: parts.length } }
    yield { type: 'finish', finish: parts.some((part) => part.type === 'call-start') ? 'tool-calls' : 'stop' }
  },
}

const scenarioOf = (request: ModelRequest): string => textOf([{ type: 'text', text: lastInput(request.messages) }])
