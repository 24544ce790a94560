import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { addPart, type Draft, newDraft } from '../../core/answer.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { newWireProvider } from '../wire/wire-provider.ts'
import { anthropicMessages } from './messages.ts'

/** Written by hand from the vendor's documented events; nothing was captured from a live service. */
const RECORDED = new URL('./recorded/', import.meta.url)

const request: ModelRequest = {
  model: 'claude-opus-5',
  system: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
}

const FINISHES: Record<string, string> = { end_turn: 'stop', tool_use: 'tool-calls', max_tokens: 'length' }

for (const name of readdirSync(RECORDED)) {
  test(`the official SDK and the decoder read ${name} alike`, async () => {
    await using server = await serve(readFileSync(new URL(name, RECORDED)))
    const theirs = await readWithSdk(server.url)
    const ours = await readWithHoldfast(server.url)

    assert.deepEqual(ours.content, theirs.content)
    assert.deepEqual(ours.calls, theirs.calls)
    assert.deepEqual(ours.usage, theirs.usage)
    assert.equal(ours.stop, theirs.stop)
  })
}

async function readWithSdk(baseURL: string) {
  const client = new Anthropic({ baseURL, apiKey: 'a-key', maxRetries: 0 })
  const { content, usage, stop_reason } = await client.messages
    .stream({ model: request.model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] })
    .finalMessage()
  return {
    content: content.flatMap((block) => {
      if (block.type === 'text') return [['text', block.text]]
      if (block.type === 'thinking') return [['reasoning', block.thinking, block.signature]]
      return block.type === 'redacted_thinking' ? [['redacted', block.data]] : []
    }),
    calls: content.flatMap((block) => (block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [])),
    usage: {
      prompt: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      cached: usage.cache_read_input_tokens ?? 0,
      written: usage.cache_creation_input_tokens ?? 0,
      completion: usage.output_tokens,
    },
    stop: FINISHES[stop_reason!] ?? stop_reason,
  }
}

async function readWithHoldfast(baseUrl: string) {
  const draft = await draftFrom(baseUrl)
  return {
    content: draft.content.map((part) => {
      if (part.type === 'text') return ['text', part.text]
      assert.equal(part.origin, 'anthropic')
      return part.type === 'reasoning' ? ['reasoning', part.text, part.signature] : ['redacted', part.data]
    }),
    calls: draft.calls.map(({ callId, tool, json }) => [callId, tool, JSON.parse(json)]),
    usage: {
      prompt: draft.usage.promptTokens,
      cached: draft.usage.cachedTokens,
      written: draft.usage.cacheWriteTokens,
      completion: draft.usage.completionTokens,
    },
    stop: draft.finish ?? (draft.failure?.kind === 'content-refused' ? 'refusal' : draft.failure?.kind),
  }
}

async function draftFrom(baseUrl: string): Promise<Draft> {
  const provider = newWireProvider({
    provider: 'anthropic',
    dialect: anthropicMessages,
    baseUrl,
    classify: ({ body }) => ({ kind: 'server-error', detail: body }),
    classifyTransport: (error) => ({ kind: 'unreachable', detail: String(error) }),
  })
  const draft = newDraft()
  for await (const part of provider.stream(request, { signal: AbortSignal.timeout(10_000) })) addPart(draft, part)
  return draft
}

/** Sends pieces that end in the middle of lines and characters. */
async function serve(bytes: Buffer) {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (let start = 0; start < bytes.length; start += 61) response.write(bytes.subarray(start, start + 61))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
