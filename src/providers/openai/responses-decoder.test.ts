import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPart, newDraft, type Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import { RESPONSES_STREAMS } from './recorded/responses-streams.ts'
import { newResponsesDecoder } from './responses-decoder.ts'

function decode(...events: (object | string)[]): Part[] {
  const decoder = newResponsesDecoder({
    provider: 'openai',
    model: 'm',
    headers: {},
    classify: ({ body, status }) => ({
      kind: 'server-error',
      detail: body,
      ...defined({ status: status || undefined }),
    }),
  })
  const parts = events.flatMap((event) =>
    decoder.take({ data: typeof event === 'string' ? event : JSON.stringify(event) }),
  )
  return [...parts, ...decoder.end()]
}

const recorded = (name: string): string[] =>
  RESPONSES_STREAMS[name]!.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))

function failureOf(parts: Part[]) {
  const last = parts.at(-1)
  assert.equal(last?.type, 'failure', JSON.stringify(parts))
  return (last as Extract<Part, { type: 'failure' }>).failure
}

test('reasoning has its summaries, and encrypted reasoning has its id', () => {
  const draft = newDraft()
  for (const part of decode(...recorded('reasoning with a summary in two parts, then text'))) addPart(draft, part)
  assert.deepEqual(
    draft.content.map((part) => ('text' in part ? [part.type, part.text] : part)),
    [
      ['reasoning', 'Two and two\n\nFour'],
      { type: 'encrypted-reasoning', itemId: 'rs_1', data: 'gAAAA-rs_1', origin: 'openai-responses' },
      ['text', 'It is four.'],
    ],
  )
  assert.deepEqual(draft.usage, {
    promptTokens: 1_200,
    completionTokens: 90,
    cachedTokens: 1_024,
    cacheWriteTokens: 0,
    reasoningTokens: 64,
  })
})

test('an item that came without deltas is read from its last event', () => {
  const parts = decode(
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'message', content: [{ type: 'output_text', text: 'hi' }] },
    },
    {
      type: 'response.output_item.done',
      output_index: 1,
      item: { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' },
    },
    { type: 'response.completed', response: {} },
  )
  assert.deepEqual(parts, [
    { type: 'text-delta', text: 'hi' },
    { type: 'call-start', index: 0, callId: 'c', tool: 'n' },
    { type: 'call-delta', index: 0, json: '{}' },
    { type: 'finish', finish: 'tool-calls' },
  ])
})

test('two calls that share one id stay two calls, with two ids', () => {
  const item = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' }
  const starts = decode(
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 1, item },
  ).flatMap((part) => (part.type === 'call-start' ? [part.callId] : []))
  assert.equal(starts[0], 'c')
  assert.equal(new Set(starts).size, 2)
})

test('an incomplete response is a length limit, a refusal or a cut-off, depending on its reason', () => {
  const incomplete = (reason?: string) =>
    decode({ type: 'response.incomplete', response: { incomplete_details: reason ? { reason } : null } })
  assert.deepEqual(incomplete('max_output_tokens'), [{ type: 'finish', finish: 'length' }])
  assert.equal(failureOf(incomplete('content_filter')).kind, 'content-refused')
  assert.equal(failureOf(incomplete()).kind, 'cut-off')
})

test('a refusal in the text is a content refusal', () => {
  const failure = failureOf(
    decode(
      { type: 'response.refusal.delta', delta: 'I cannot ' },
      { type: 'response.refusal.delta', delta: 'help.' },
      { type: 'response.refusal.done', refusal: 'I cannot help.' },
      { type: 'response.completed', response: {} },
    ),
  )
  assert.equal(failure.kind, 'content-refused')
  assert.equal(failure.detail, 'I cannot help.')
})

test('failed responses and error events go to the classifier', () => {
  const failed = { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'slow' } } }
  assert.deepEqual(JSON.parse(failureOf(decode(failed)).detail), {
    error: { code: 'rate_limit_exceeded', message: 'slow' },
  })
  const error = failureOf(decode({ type: 'error', code: '429', message: 'slow' }))
  assert.equal(error.status, 429)
  assert.equal(JSON.parse(error.detail).error.message, 'slow')
  assert.equal(failureOf(decode({ error: { message: 'from a proxy', code: 502 } })).status, 502)
})

test('a stream without its last event has no finish', () => {
  for (const name of Object.keys(RESPONSES_STREAMS)) {
    const events = recorded(name).slice(0, -1)
    assert.ok(
      decode(...events).every((part) => part.type !== 'finish' && part.type !== 'failure'),
      name,
    )
  }
})

test('unknown event types are skipped, and data that is not an event is a malformed answer', () => {
  assert.deepEqual(decode({ type: 'response.hologram.delta', delta: 'x' }, '[DONE]'), [])
  for (const broken of ['{', 'null', '7', {}, { type: 'response.output_item.done' }])
    assert.equal(failureOf(decode(broken)).kind, 'malformed-answer', JSON.stringify(broken))
})
