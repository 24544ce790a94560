import type { Part } from '../../src/core/answer.ts'
import type { FailureKind } from '../../src/core/failure.ts'
import type { ModelFacts, ModelProvider, ModelRequest } from '../../src/ports/model.ts'

/** A model that returns these answers in order, regardless of the request, and then repeats the last one. */
export type QueueModel = ModelProvider & { requests: ModelRequest[] }

export function queueModel(answers: readonly (readonly Part[])[], facts: ModelFacts = {}): QueueModel {
  const requests: ModelRequest[] = []
  return {
    requests,
    factsOf: () => facts,
    async *stream(request) {
      requests.push(request)
      yield* answers[Math.min(requests.length, answers.length) - 1] ?? []
    },
  }
}

export const says = (text: string, more: { finish?: 'stop' | 'length'; tokens?: number } = {}): Part[] => [
  { type: 'text-delta', text },
  { type: 'usage', usage: { promptTokens: more.tokens ?? 10, completionTokens: 2 } },
  { type: 'finish', finish: more.finish ?? 'stop' },
]

export const thinks = (text: string, finish: 'stop' | 'length' = 'stop'): Part[] => [
  { type: 'reasoning-delta', text },
  { type: 'finish', finish },
]

export const calls = (tool: string, json: string, finish: 'tool-calls' | 'length' = 'tool-calls'): Part[] => [
  { type: 'call-start', index: 0, callId: '', tool },
  { type: 'call-delta', index: 0, json },
  { type: 'finish', finish },
]

export const fails = (kind: FailureKind): Part[] => [
  { type: 'failure', failure: { kind, detail: `simulated ${kind}` } },
]

export const nothing: Part[] = [{ type: 'finish', finish: 'stop' }]
