import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { addPart, type Draft, newDraft } from '../../src/core/answer.ts'
import type { FailureKind } from '../../src/core/failure.ts'
import { DIALECTS, textOf } from '../../src/core/message.ts'
import { classify, classifyTransport } from '../../src/providers/classify/classify.ts'
import { WIRE_DIALECTS } from '../../src/providers/dialects.ts'
import { newWireProvider } from '../../src/providers/wire/wire-provider.ts'
import type { Answer, ModelProtocol, Reply } from '../../src/simulator/script.ts'
import { simulatorFixture } from './fixture-simulator.ts'

/** The result of the product's client for a scripted answer. */
async function draftOf(context: TestContext, protocol: ModelProtocol, answer: Answer): Promise<Draft> {
  const simulator = await simulatorFixture(context, { script: [{ answer }] })
  const provider = newWireProvider({
    provider: 'simulated',
    dialect: await WIRE_DIALECTS[protocol].load(),
    baseUrl: `${simulator.url}/v1`,
    classify,
    classifyTransport,
  })
  context.after(() => provider.renewConnections?.())
  const request = {
    model: 'm',
    system: 'Be brief.',
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }],
    tools: [],
  }
  const draft = newDraft()
  for await (const part of provider.stream(request, { signal: AbortSignal.timeout(20_000) })) addPart(draft, part)
  assert.equal(simulator.requests[0]?.protocol, protocol)
  return draft
}

const FULL: Reply = {
  text: 'Grüße aus Bergen 🌧️',
  reasoning: { text: 'The user wants the weather.', signature: 'c2ln', encrypted: 'gAAA' },
  calls: [
    { id: 'c1', name: 'forecast', arguments: { city: 'Bergen', days: 3 } },
    { id: 'c2', name: 'clock' },
  ],
  usage: { input: 100, output: 20, cached: 60 },
  pace: { bytesPerWrite: 7 },
}

const STORY: Reply = { text: 'Once upon a time there was a lighthouse keeper with a long story.' }

/** The failure kind of a broken answer; undefined if the answer is still valid. */
const BROKEN: [string, Answer, FailureKind | undefined][] = [
  ['a reset in mid-answer', { ...STORY, breaks: { how: 'reset', afterChunks: 3 } }, 'cut-off'],
  ['a connection that closes in mid-answer', { ...STORY, breaks: { how: 'cut', afterChunks: 3 } }, 'cut-off'],
  ['pings before the answer', { ...STORY, breaks: { how: 'pings', count: 3, everyMs: 1 } }, undefined],
  [
    'an error inside a 200',
    { ...STORY, breaks: { how: 'error-event', error: 'overloaded', afterChunks: 2 } },
    'overloaded',
  ],
  ['a page in a 200', { error: 'html-200' }, 'malformed-answer'],
  ['a reset before the first byte', { line: 'reset' }, 'unreachable'],
  ['a chunk that is half a chunk', { ...STORY, breaks: { how: 'malformed', chunk: 3 } }, 'malformed-answer'],
  ['a page from a proxy', { error: 'html-502' }, 'server-error'],
]

for (const protocol of DIALECTS) {
  test(`${protocol}: the client parses text, reasoning, parallel calls and usage, however the bytes are split`, async (context) => {
    const draft = await draftOf(context, protocol, FULL)
    assert.equal(draft.failure, undefined)
    assert.equal(textOf(draft.content), FULL.text)
    assert.equal(draft.finish, 'tool-calls')
    assert.deepEqual(
      draft.calls.map(({ callId, tool, json }) => [callId, tool, JSON.parse(json || '{}')]),
      [
        ['c1', 'forecast', { city: 'Bergen', days: 3 }],
        ['c2', 'clock', {}],
      ],
    )
    assert.deepEqual([draft.usage.promptTokens, draft.usage.completionTokens, draft.usage.cachedTokens], [100, 20, 60])
    const thought = draft.content.map((part) => (part.type === 'reasoning' ? part.text : '')).join('')
    assert.equal(thought, FULL.reasoning?.text)
  })

  for (const [name, answer, kind] of BROKEN)
    test(`${protocol}: the client classifies ${name} as ${kind ?? 'a valid answer'}`, async (context) => {
      const draft = await draftOf(context, protocol, answer)
      assert.equal(draft.failure?.kind, kind, JSON.stringify(draft.failure))
      if (!kind) assert.equal(textOf(draft.content), STORY.text)
    })

  test(`${protocol}: an answer without a finish reason never counts as complete`, async (context) => {
    const draft = await draftOf(context, protocol, { ...STORY, breaks: { how: 'no-finish' } })
    assert.equal(draft.finish, undefined)
  })
}

for (const protocol of ['openai-chat', 'openai-responses'] as const)
  for (const callIds of ['repeated', 'changed'] as const)
    test(`${protocol}: calls whose ids are ${callIds} keep their arguments, each once`, async (context) => {
      const { calls, failure } = await draftOf(context, protocol, { ...FULL, callIds })
      assert.equal(failure, undefined)
      assert.deepEqual(
        calls.map(({ tool, json }) => [tool, JSON.parse(json || '{}')]),
        [
          ['forecast', { city: 'Bergen', days: 3 }],
          ['clock', {}],
        ],
      )
    })
