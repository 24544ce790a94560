import type { Part } from '../src/core/answer.ts'
import type { MessageBody } from '../src/core/message.ts'
import type { ModelProvider } from '../src/ports/model.ts'
import { readAnswer, sinceInput } from './read-answer.ts'
import type { WireChunk, WireMessage } from './wire.ts'

/** The source as a model provider of Holdfast. */
export function benchProvider(source: string, request: 'whole-history' | 'current-turn'): ModelProvider {
  return {
    stream({ messages }, { signal }) {
      const shown = request === 'whole-history' ? messages : sinceInput(messages)
      return partsOf(readAnswer(source, shown.flatMap(toWire), signal))
    },
  }
}

/** As the real providers do: a queue per network read, because a generator would await twice for each part. */
function partsOf(answer: AsyncGenerator<WireChunk[]>): AsyncIterable<Part> {
  let ready: Part[] = []
  let at = 0
  const take = (): Promise<IteratorResult<Part, undefined>> =>
    at < ready.length ? Promise.resolve({ done: false, value: ready[at++]! }) : read()
  async function read(): Promise<IteratorResult<Part, undefined>> {
    const { done, value } = await answer.next()
    if (done) return { done: true, value: undefined }
    ready = value.flatMap(toParts)
    at = 0
    return take()
  }
  const leave = async () => {
    await answer.return(undefined)
    return { done: true as const, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next: take, return: leave }) }
}

function toParts({ choices, usage }: WireChunk): Part[] {
  const { delta, finish_reason } = choices[0]!
  const parts: Part[] = []
  if (delta.content) parts.push({ type: 'text-delta', text: delta.content })
  for (const call of delta.tool_calls ?? []) {
    const { index, id, function: called } = call
    parts.push({ type: 'call-start', index, callId: id, tool: called.name })
    parts.push({ type: 'call-delta', index, json: called.arguments })
  }
  if (usage) {
    const { prompt_tokens, completion_tokens } = usage
    parts.push({ type: 'usage', usage: { promptTokens: prompt_tokens, completionTokens: completion_tokens } })
  }
  if (finish_reason) parts.push({ type: 'finish', finish: finish_reason === 'tool_calls' ? 'tool-calls' : 'stop' })
  return parts
}

function toWire(body: MessageBody): WireMessage[] {
  switch (body.role) {
    case 'user':
    case 'system':
      return [{ role: body.role, content: textOf(body.content) }]
    case 'assistant': {
      const content = textOf(body.content)
      if (body.calls.length === 0) return [{ role: 'assistant', content }]
      const calls = body.calls.map(({ callId, tool, input }) => ({
        id: callId,
        type: 'function' as const,
        function: { name: tool, arguments: JSON.stringify(input) },
      }))
      return [{ role: 'assistant', content, tool_calls: calls }]
    }
    case 'tool':
      return body.outcomes.map(({ callId, output }) => ({ role: 'tool', tool_call_id: callId, content: output }))
    case 'summary':
      return [{ role: 'user', content: body.text }]
    case 'approval':
      return []
  }
}

function textOf(parts: readonly { type: string; text?: string }[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text
  return text
}
