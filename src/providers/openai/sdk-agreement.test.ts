import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { addPart, type Draft, newDraft } from '../../core/answer.ts'
import { textOf } from '../../core/message.ts'
import type { WireDialect } from '../wire/dialect.ts'
import { CHUNKED_HEAD, chunked, LAST_CHUNK, openLoopback } from '../wire/testing/loopback.ts'
import { newWireProvider } from '../wire/wire-provider.ts'
import { openaiChat } from './chat.ts'
import { CHAT_STREAMS } from './recorded/chat-streams.ts'
import { RESPONSES_STREAMS } from './recorded/responses-streams.ts'
import { openaiResponses } from './responses.ts'

type Reading = { text: string; calls: object[]; usage: object; finish: string }

for (const [name, recorded] of Object.entries(CHAT_STREAMS)) {
  test(`Chat Completions, ${name}: the official client reads the same`, async (context) => {
    const base = await serve(context, recorded)
    assert.deepEqual(await ourReading(openaiChat, base), await theirChat(base))
  })
}

for (const [name, recorded] of Object.entries(RESPONSES_STREAMS)) {
  test(`Responses, ${name}: the official client reads the same`, async (context) => {
    const base = await serve(context, recorded)
    assert.deepEqual(await ourReading(openaiResponses, base), await theirResponse(base))
  })
}

async function serve(context: TestContext, recorded: string): Promise<string> {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(recorded) + LAST_CHUNK)
  })
  return server.url
}

async function ourReading(dialect: WireDialect, baseUrl: string): Promise<Reading> {
  const provider = newWireProvider({
    provider: 'openai',
    dialect,
    baseUrl,
    classify: ({ body }) => ({ kind: 'server-error', detail: body }),
    classifyTransport: (error) => ({ kind: 'unreachable', detail: String(error) }),
  })
  const request = { model: 'gpt-5', system: '', messages: [], tools: [] }
  const draft: Draft = newDraft()
  for await (const part of provider.stream(request, { signal: new AbortController().signal })) addPart(draft, part)
  assert.equal(draft.failure, undefined)
  return {
    text: textOf(draft.content),
    calls: draft.calls.map(({ callId, tool, json }) => ({ callId, tool, json })),
    usage: { prompt: draft.usage.promptTokens, completion: draft.usage.completionTokens, ...detailsOf(draft) },
    finish: draft.finish!,
  }
}

const detailsOf = ({ usage: { cachedTokens = 0, reasoningTokens = 0 } }: Draft) => ({
  cached: cachedTokens,
  reasoning: reasoningTokens,
})

const clientAt = (baseURL: string): OpenAI => new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 })

const CHAT_FINISHES: Record<string, string> = { stop: 'stop', tool_calls: 'tool-calls', length: 'length' }

async function theirChat(base: string): Promise<Reading> {
  const stream = clientAt(base).chat.completions.stream({ model: 'gpt-5', messages: [] })
  const { choices, usage } = await stream.finalChatCompletion()
  const { message, finish_reason } = choices[0]!
  return {
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).map((call) => ({
      callId: call.id,
      tool: call.function.name,
      json: call.function.arguments,
    })),
    usage: {
      prompt: usage?.prompt_tokens,
      completion: usage?.completion_tokens,
      // The client does not know DeepSeek's field name.
      cached:
        usage?.prompt_tokens_details?.cached_tokens ??
        (usage as { prompt_cache_hit_tokens?: number }).prompt_cache_hit_tokens ??
        0,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    },
    finish: CHAT_FINISHES[finish_reason]!,
  }
}

async function theirResponse(base: string): Promise<Reading> {
  const response = await clientAt(base).responses.stream({ model: 'gpt-5', input: [] }).finalResponse()
  const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
  const finish = response.status === 'incomplete' ? 'length' : calls.length > 0 ? 'tool-calls' : 'stop'
  const { usage } = response
  return {
    text: response.output_text,
    calls: calls.map((call) => ({ callId: call.call_id, tool: call.name, json: call.arguments })),
    usage: {
      prompt: usage?.input_tokens,
      completion: usage?.output_tokens,
      cached: usage?.input_tokens_details.cached_tokens,
      reasoning: usage?.output_tokens_details.reasoning_tokens,
    },
    finish,
  }
}
