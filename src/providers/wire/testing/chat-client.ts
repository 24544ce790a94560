import assert from 'node:assert/strict'
import type { Part } from '../../../core/answer.ts'
import { defined } from '../../../core/defined.ts'
import type { Failure } from '../../../core/failure.ts'
import type { ModelProvider, ModelRequest } from '../../../ports/model.ts'
import { openaiChat } from '../../openai/chat.ts'
import { newWireProvider, type WireProviderOptions } from '../wire-provider.ts'

export const REQUEST: ModelRequest = {
  model: 'model-1',
  system: 'Be brief.',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  tools: [],
}

export const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
export const delta = (content: string): string => event({ choices: [{ index: 0, delta: { content } }] })
export const STOP = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const USAGE = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })
export const DONE = 'data: [DONE]\n\n'
export const ANSWER = [delta('Grüße '), delta('aus 東京 🦉'), STOP, USAGE, DONE].join('')
export const ANSWER_PARTS: Part[] = [
  { type: 'text-delta', text: 'Grüße ' },
  { type: 'text-delta', text: 'aus 東京 🦉' },
  { type: 'usage', usage: { promptTokens: 7, completionTokens: 3 } },
  { type: 'finish', finish: 'stop' },
]

export function providerAt(baseUrl: string, more: Partial<WireProviderOptions> = {}): ModelProvider {
  return newWireProvider({
    provider: 'loopback',
    dialect: openaiChat,
    baseUrl,
    classify: ({ status, body, headers }) => ({
      kind: 'server-error',
      detail: `${headers['content-type']}: ${body}`,
      ...defined({ status: status || undefined }),
    }),
    classifyTransport: (error, phase) => ({
      kind: phase === 'connect' ? 'unreachable' : 'cut-off',
      detail: String(error),
      code: phase,
    }),
    ...more,
  })
}

export async function read(provider: ModelProvider, signal = new AbortController().signal): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of provider.stream(REQUEST, { signal })) parts.push(part)
  return parts
}

export function onlyFailure(parts: Part[]): Failure {
  const last = parts.at(-1)
  assert.equal(last?.type, 'failure', JSON.stringify(parts))
  assert.equal(parts.filter((part) => part.type === 'failure' || part.type === 'finish').length, 1)
  return (last as Extract<Part, { type: 'failure' }>).failure
}

/** Waits one turn of the event loop, so that the written bytes leave as a separate packet. */
export const nextLoopTurn = () => new Promise((resolve) => setImmediate(resolve))
