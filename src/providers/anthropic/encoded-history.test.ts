import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defined } from '../../core/defined.ts'
import { historyFaults } from '../../core/history.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { Json } from '../../core/json.ts'
import type { AnswerPart, InputPart, MessageBody } from '../../core/message.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { geminiGenerateContent } from '../gemini/generate-content.ts'
import type { WireDialect } from '../wire/dialect.ts'
import { anthropicMessages } from './messages.ts'

// Both dialects alternate user and model turns, so they share these properties.

const text = fc.oneof(fc.string(), fc.constantFrom('', ' ', '\n', 'Hello', 'für 今日 🙂', '"}]', '\ud800'))
const image: fc.Arbitrary<ImagePart> = fc.constantFrom(
  { type: 'image', source: { mediaType: 'image/png', data: 'aGVsbG8=' } },
  { type: 'image', source: { mediaType: 'image/tiff', data: 'aGVsbG8=' } },
  { type: 'image', source: { url: 'https://example.com/a.jpg' } },
  { type: 'image', source: { url: 'data:image/webp;base64,aGVsbG8=' } },
)
const textPart = text.map((value): InputPart & AnswerPart => ({ type: 'text', text: value }))
const origin = fc.constantFrom('anthropic', 'gemini', 'ai-sdk', 'openai-responses', undefined)
const answerPart: fc.Arbitrary<AnswerPart> = fc.oneof(
  { weight: 3, arbitrary: textPart },
  fc.record({ value: text, signature: fc.constantFrom('', 'c2ln', undefined), origin }).map(
    ({ value, signature, origin }): AnswerPart => ({
      type: 'reasoning',
      text: value,
      ...defined({ signature, origin }),
    }),
  ),
  origin.map((from): AnswerPart => ({ type: 'redacted-reasoning', data: 'ZGF0YQ==', ...defined({ origin: from }) })),
  fc.constant<AnswerPart>({ type: 'encrypted-reasoning', itemId: 'rs_1', data: 'eA==', origin: 'openai-responses' }),
)

type Step =
  | { type: 'input'; role: 'user' | 'system'; content: InputPart[]; name?: string }
  | { type: 'summary'; text: string }
  | { type: 'answer'; content: AnswerPart[]; calls: Call[] }
type Call = {
  id: string
  tool: string
  input: Json
  signature: string | undefined
  status: 'success' | 'error' | 'denied' | 'unknown'
  output: string
  images: ImagePart[]
}

const call: fc.Arbitrary<Call> = fc.record({
  id: fc.constantFrom('', '.', ':0', '-x'),
  tool: fc.constantFrom('search', 'get weather!', '', 'x'.repeat(200)),
  input: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()) as fc.Arbitrary<Json>,
  signature: fc.constantFrom(undefined, 'c2ln', 'ai-sdk:call:{}'),
  status: fc.constantFrom('success', 'error', 'denied', 'unknown'),
  output: text,
  images: fc.array(image, { maxLength: 2 }),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        role: fc.constantFrom('user', 'system'),
        content: fc.array(fc.oneof(textPart, image), { maxLength: 3 }),
        name: fc.constantFrom('Ada', undefined),
      })
      .map(({ role, content, name }): Step => ({ type: 'input', role, content, ...defined({ name }) })),
  },
  fc.constant<Step>({ type: 'summary', text: 'They met.' }),
  {
    weight: 3,
    arbitrary: fc
      .record({ content: fc.array(answerPart, { maxLength: 4 }), calls: fc.array(call, { maxLength: 3 }) })
      .map((answer): Step => ({ type: 'answer', ...answer })),
  },
)

const history = fc.array(step, { maxLength: 12 }).map((steps) => steps.flatMap(bodiesOf))

function bodiesOf(step: Step, position: number): MessageBody[] {
  switch (step.type) {
    case 'input': {
      const { type: _, ...body } = step
      return [body]
    }
    case 'summary':
      return [{ role: 'summary', text: step.text, replaces: { from: 1, to: 9 } }]
    case 'answer': {
      const { content } = step
      if (content.length === 0 && step.calls.length === 0) return []
      const ids = step.calls.map((call, index) => `call_${position}_${index}${call.id}`)
      const calls = step.calls.map(({ tool, input, signature }, index) => ({
        callId: ids[index]!,
        tool,
        input,
        digest: '',
        needsApproval: false,
        effects: 'none' as const,
        parallel: false,
        ...defined({ signature: signature || undefined }),
      }))
      const outcomes = step.calls.map(({ status, output, images }, index) => ({
        callId: ids[index]!,
        status,
        output,
        ...defined({ images: images.length > 0 ? images : undefined }),
      }))
      const answer: MessageBody = { role: 'assistant', content, calls }
      return calls.length > 0 ? [answer, { role: 'tool', outcomes }] : [answer]
    }
  }
}

const adjustments: fc.Arbitrary<RequestAdjustments> = fc.constantFrom<RequestAdjustments>(
  {},
  { stripSignatures: true },
  { textOnlyResults: true, relaxSchemas: true },
)
const rest = fc.record({
  system: fc.constantFrom('', 'You are helpful.'),
  tools: fc.constantFrom([], [{ name: 'search', description: 'Finds things.', inputSchema: { type: 'object' } }]),
  adjustments,
})

type Message = { role: string; content: Record<string, unknown>[] }
type Content = { role: string; parts: Record<string, unknown>[] }

const bodyOf = (dialect: WireDialect, request: ModelRequest): string => dialect.encode(request, { quirks: {} }).body

test('any history becomes messages that Anthropic accepts', () => {
  fc.assert(
    fc.property(history, rest, fc.constantFrom('low', undefined), (messages, others, effort) => {
      assert.deepEqual(historyFaults(messages), [])
      const body = bodyOf(anthropicMessages, {
        model: 'claude-sonnet-4-5',
        messages,
        ...others,
        ...defined({ effort }),
      })
      const sent = JSON.parse(body) as { messages: Message[]; thinking?: unknown }
      assertAlternate(
        sent.messages.map(({ role }) => role),
        'assistant',
      )
      assert.ok((body.match(/"cache_control":\{"type":"ephemeral"\}/g)?.length ?? 0) <= 4)
      for (const [index, { content }] of sent.messages.entries()) {
        assert.ok(content.length > 0)
        assertEachBlock(content)
        assertCallsAnswered(content, sent.messages[index + 1])
        assertResultsAsked(content, sent.messages[index - 1])
      }
      if (sent.thinking) assertLastCallsThought(sent.messages)
    }),
    { numRuns: 500 },
  )
})

function assertAlternate(roles: string[], model: string): void {
  assert.ok(roles.length > 0)
  for (const [index, role] of roles.entries()) assert.equal(role, index % 2 === 0 ? 'user' : model)
  assert.equal(roles.at(-1), 'user')
}

function assertEachBlock(content: Record<string, unknown>[]): void {
  for (const block of content) {
    if (block.type === 'text') assert.notEqual((block.text as string).trim(), '')
    if (block.type === 'thinking') assert.ok(block.signature)
    if (block.type === 'thinking' || block.type === 'redacted_thinking') assert.ok(!('cache_control' in block))
    if (block.type === 'tool_use') {
      assert.match(block.id as string, /^[a-zA-Z0-9_-]+$/)
      assert.match(block.name as string, /^[a-zA-Z0-9_-]{1,128}$/)
      assert.ok(block.input !== null && typeof block.input === 'object' && !Array.isArray(block.input))
    }
    if (block.type === 'tool_result') {
      const inner = (block.content ?? []) as Record<string, unknown>[]
      assertEachBlock(inner)
      if (block.is_error) assert.ok(inner.every(({ type }) => type === 'text'))
    }
  }
}

const idsOf = (content: Record<string, unknown>[] | undefined, type: string, key: string) =>
  (content ?? []).filter((block) => block.type === type).map((block) => block[key])

function assertCallsAnswered(content: Record<string, unknown>[], next: Message | undefined): void {
  const callIds = idsOf(content, 'tool_use', 'id')
  assert.equal(new Set(callIds).size, callIds.length)
  assert.deepEqual(idsOf(next?.content.slice(0, callIds.length), 'tool_result', 'tool_use_id'), callIds)
}

function assertResultsAsked(content: Record<string, unknown>[], before: Message | undefined): void {
  assert.deepEqual(idsOf(content, 'tool_result', 'tool_use_id'), idsOf(before?.content, 'tool_use', 'id'))
}

function assertLastCallsThought(messages: Message[]): void {
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const isWaiting = messages.at(-1)!.content.some(({ type }) => type === 'tool_result')
  if (!answer || !isWaiting) return
  assert.match(answer.content[0]!.type as string, /^(redacted_)?thinking$/)
}

test('any history becomes contents that Gemini accepts', () => {
  fc.assert(
    fc.property(history, rest, fc.constantFrom('gemini-2.5-pro', 'gemini-3-pro'), (messages, others, model) => {
      const sent = JSON.parse(bodyOf(geminiGenerateContent, { model, messages, ...others })) as { contents: Content[] }
      assertAlternate(
        sent.contents.map(({ role }) => role),
        'model',
      )
      for (const [index, { parts }] of sent.contents.entries()) {
        assert.ok(parts.length > 0)
        for (const part of parts)
          if ('text' in part && !part.thoughtSignature) assert.notEqual((part.text as string).trim(), '')
        const asked = namesOf(parts, 'functionCall')
        assert.deepEqual(namesOf(sent.contents[index + 1]?.parts ?? [], 'functionResponse'), asked)
        const first = parts.find((part) => part.functionCall)
        if (first && model === 'gemini-3-pro') assert.ok(first.thoughtSignature)
      }
    }),
    { numRuns: 500 },
  )
})

const namesOf = (parts: Record<string, unknown>[], field: string) =>
  parts.flatMap((part) => {
    const value = part[field] as { id?: string; name: string } | undefined
    return value ? [[value.id, value.name]] : []
  })

for (const dialect of [anthropicMessages, geminiGenerateContent]) {
  test(`${dialect.name}: a longer history starts with the bytes of the shorter one`, () => {
    fc.assert(
      fc.property(history, step, rest, (messages, growth, others) => {
        const before = bodyOf(dialect, { model: 'claude-opus-5', messages, ...others })
        assert.equal(before, bodyOf(dialect, { model: 'claude-opus-5', messages, ...others }))
        assert.equal(
          before,
          bodyOf(dialect, { model: 'claude-opus-5', messages: structuredClone(messages), ...others }),
        )

        const grown = [...messages, ...bodiesOf(growth, 1_000)]
        const after = bodyOf(dialect, { model: 'claude-opus-5', messages: grown, ...others })
        assert.ok(unmarked(after).startsWith(stablePart(unmarked(before))))
      }),
      { numRuns: 300 },
    )
  })
}

for (const dialect of [anthropicMessages, geminiGenerateContent]) {
  test(`${dialect.name}: a long history gives the same text from the cache and without it`, () => {
    const long = fc.array(step, { minLength: 120, maxLength: 140 }).map((steps) => steps.flatMap(bodiesOf))
    fc.assert(
      fc.property(long, fc.nat(119), fc.nat(70), (messages, place, shift) => {
        const written = (bodies: readonly MessageBody[]) =>
          bodyOf(dialect, { model: 'gemini-3-pro', messages: bodies, system: '', tools: [] })
        const change = (bodies: readonly MessageBody[]) =>
          assert.equal(written(bodies), written(structuredClone(bodies) as MessageBody[]))
        change(messages)
        change(messages)
        change([...messages, ...messages])
        const other: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Other' }] }
        change([...Array(shift).fill(other), ...messages])
        change(messages.map((body, index) => (index === place && body.role === 'user' ? other : body)))
      }),
      { numRuns: 25 },
    )
  })
}

const unmarked = (body: string): string => body.replaceAll(',"cache_control":{"type":"ephemeral"}', '')

/** Removes the closing brackets and the replacement for a missing user turn at either end. */
const stablePart = (body: string): string =>
  body
    .slice(0, -']}]}'.length)
    .replace(/(\{|,)?\{"role":"user","(content|parts)":\[\{[^{}]*\[(Continue|The conversation begins)\.\]"\}$/, '')
    .replace(/\]\}$/, '')
