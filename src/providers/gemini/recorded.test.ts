import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { GoogleGenAI, type Part } from '@google/genai'
import { addPart, type Draft, newDraft } from '../../core/answer.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { newWireProvider } from '../wire/wire-provider.ts'
import { geminiGenerateContent } from './generate-content.ts'

/** Written by hand from the vendor's documented events; nothing was captured from a live service. */
const RECORDED = new URL('./recorded/', import.meta.url)

const request: ModelRequest = {
  model: 'gemini-2.5-flash',
  system: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
}

for (const name of readdirSync(RECORDED)) {
  test(`the official SDK and the decoder read ${name} alike`, async () => {
    await using server = await serve(readFileSync(new URL(name, RECORDED)))
    const theirs = await readWithSdk(server.url)
    const ours = await readWithHoldfast(server.url)

    assert.deepEqual(ours, theirs)
  })
}

const FINISHES: Record<string, string> = { MAX_TOKENS: 'length', SAFETY: 'content-refused' }

async function readWithSdk(baseUrl: string) {
  const client = new GoogleGenAI({ apiKey: 'a-key', httpOptions: { baseUrl } })
  const parts: Part[] = []
  let usage: Record<string, number | undefined> = {}
  let finish: string | undefined
  for await (const chunk of await client.models.generateContentStream({ model: request.model, contents: 'Hello' })) {
    const counts = chunk.usageMetadata
    if (counts)
      usage = {
        prompt: counts.promptTokenCount,
        completion: (counts.candidatesTokenCount ?? 0) + (counts.thoughtsTokenCount ?? 0),
        cached: counts.cachedContentTokenCount,
        thoughts: counts.thoughtsTokenCount,
      }
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    finish = chunk.candidates?.[0]?.finishReason ?? finish
  }
  const calls = parts.filter((part) => part.functionCall)
  const spoken = parts.filter((part) => !part.functionCall)
  return {
    text: joined(spoken.filter((part) => !part.thought)),
    thoughts: joined(spoken.filter((part) => part.thought)),
    signatures: spoken.flatMap((part) => part.thoughtSignature ?? []),
    calls: calls.map(({ functionCall: call, thoughtSignature }) => [
      call!.id ?? '',
      call!.name,
      call!.args,
      thoughtSignature,
    ]),
    usage,
    stop: FINISHES[finish!] ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
  }
}

async function readWithHoldfast(baseUrl: string) {
  const draft = await draftFrom(baseUrl)
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = draft.usage
  return {
    text: joined(draft.content.filter((part) => part.type === 'text')),
    thoughts: joined(draft.content.filter((part) => part.type === 'reasoning')),
    signatures: draft.content.flatMap((part) => (part.type === 'reasoning' ? (part.signature ?? []) : [])),
    calls: draft.calls.map(({ callId, tool, json, signature }) => [callId, tool, JSON.parse(json), signature]),
    usage: { prompt: promptTokens, completion: completionTokens, cached: cachedTokens, thoughts: reasoningTokens },
    stop: draft.finish ?? draft.failure?.kind,
  }
}

const joined = (parts: readonly { text?: string }[]): string => parts.map((part) => part.text ?? '').join('')

async function draftFrom(baseUrl: string): Promise<Draft> {
  const provider = newWireProvider({
    provider: 'gemini',
    dialect: geminiGenerateContent,
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
