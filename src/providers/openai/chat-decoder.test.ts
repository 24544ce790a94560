import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPart, newDraft, type Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import { newChatDecoder } from './chat-decoder.ts'

/** The parts that the decoder makes of these chunks; strings are sent unchanged. */
function decode(...chunks: (object | string)[]): Part[] {
  const decoder = newChatDecoder({
    provider: 'openai',
    model: 'm',
    headers: { 'x-request-id': 'request-7' },
    classify: ({ body, status }) => ({
      kind: 'server-error',
      detail: body,
      ...defined({ status: status || undefined }),
    }),
  })
  const parts = chunks.flatMap((chunk) =>
    decoder.take({ data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  )
  return parts.some((part) => part.type === 'finish' || part.type === 'failure') ? parts : [...parts, ...decoder.end()]
}

const delta = (value: object) => ({ choices: [{ index: 0, delta: value }] })
const finish = (reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
const calls = (...tool_calls: object[]) => delta({ tool_calls })
const called = (index: number | undefined, id: string | undefined, name: string | undefined, json?: unknown) => ({
  ...defined({ index, id }),
  function: defined({ name, arguments: json }),
})

function callsOf(parts: Part[]): [string, string, string][] {
  const draft = newDraft()
  for (const part of parts) addPart(draft, part)
  return draft.calls.map(({ callId, tool, json }) => [callId, tool, json])
}

function failureOf(parts: Part[]) {
  const last = parts.at(-1)
  assert.equal(last?.type, 'failure', JSON.stringify(parts))
  return (last as Extract<Part, { type: 'failure' }>).failure
}

test('each finish reason maps to a finish, and the received calls decide between stop and tool-calls', () => {
  const finished = (reason: string, ...before: object[]) => decode(...before, finish(reason), '[DONE]').at(-1)
  assert.deepEqual(finished('stop'), { type: 'finish', finish: 'stop' })
  assert.deepEqual(finished('length'), { type: 'finish', finish: 'length' })
  assert.deepEqual(finished('model_length'), { type: 'finish', finish: 'length' })
  assert.deepEqual(finished('eos'), { type: 'finish', finish: 'stop' })
  const one = calls(called(0, 'call_1', 'a', '{}'))
  assert.deepEqual(finished('tool_calls', one), { type: 'finish', finish: 'tool-calls' })
  assert.deepEqual(finished('stop', one), { type: 'finish', finish: 'tool-calls' })
  assert.deepEqual(finished('tool_calls'), { type: 'finish', finish: 'stop' })
  assert.deepEqual(finished('length', one), { type: 'finish', finish: 'length' })
})

test('an end without a finish reason gives no finish, whatever else arrived', () => {
  const parts = decode(delta({ content: 'half' }), { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  assert.ok(parts.every((part) => part.type !== 'finish'))
  assert.equal(decode('[DONE]').length, 0)
})

test('ids and names repeated in every delta make one call', () => {
  const parts = decode(
    calls(called(0, 'call_1', 'weather', '{"ci')),
    calls(called(0, 'call_1', 'weather', 'ty":')),
    calls(called(0, 'call_1', 'weather', '"Porto"}')),
  )
  assert.deepEqual(callsOf(parts), [['call_1', 'weather', '{"city":"Porto"}']])
})

test('a new id at the same index opens a new call', () => {
  const parts = decode(
    calls(called(0, 'call_1', 'weather', '{"a":1}')),
    calls(called(0, 'call_2', 'weather', '{"b"')),
    calls(called(0, undefined, undefined, ':2}')),
  )
  assert.deepEqual(callsOf(parts), [
    ['call_1', 'weather', '{"a":1}'],
    ['call_2', 'weather', '{"b":2}'],
  ])
})

test('an id that changes with every delta of one call does not split the call', () => {
  const parts = decode(
    calls(called(0, 'call_1', 'weather', '{"a"')),
    calls(called(0, 'call_x', undefined, ':1')),
    calls(called(0, 'call_y', undefined, '}')),
  )
  assert.deepEqual(callsOf(parts), [['call_1', 'weather', '{"a":1}']])
})

test('calls without an index are separated by their ids, or by complete arguments', () => {
  const byId = decode(
    calls(called(undefined, 'call_1', 'a', '{"x":')),
    calls(called(undefined, undefined, undefined, '1}')),
    calls(called(undefined, 'call_2', 'b', '{}')),
  )
  assert.deepEqual(callsOf(byId), [
    ['call_1', 'a', '{"x":1}'],
    ['call_2', 'b', '{}'],
  ])
  const whole = callsOf(decode(calls(called(undefined, undefined, 'a', '{}'), called(undefined, undefined, 'a', '{}'))))
  assert.equal(whole.length, 2)
  assert.notEqual(whole[0]![0], whole[1]![0])
})

test('two calls that share one id stay two calls, with two ids', () => {
  const shared = (second: number | undefined) =>
    callsOf(
      decode(
        calls(called(second === undefined ? undefined : 0, 'call_1', 'a', '{"x":1}')),
        calls(called(second, 'call_1', 'b', '{"y"')),
        calls(called(second, 'call_1', undefined, ':2}')),
      ),
    )
  for (const second of [1, 0, undefined]) {
    const [first, other] = shared(second)
    assert.deepEqual(first, ['call_1', 'a', '{"x":1}'])
    assert.deepEqual(other?.slice(1), ['b', '{"y":2}'])
    assert.notEqual(other?.[0], 'call_1')
  }
})

test('a late name is assigned, and earlier arguments are kept', () => {
  const parts = decode(calls(called(0, 'call_1', '', '{"a"')), calls(called(0, undefined, 'weather', ':1}')))
  assert.deepEqual(callsOf(parts), [['call_1', 'weather', '{"a":1}']])
})

test('arguments that arrive as an object are serialized', () => {
  assert.deepEqual(callsOf(decode(calls(called(0, 'call_1', 'a', { city: 'Faro' })))), [
    ['call_1', 'a', '{"city":"Faro"}'],
  ])
})

test('a refusal in the text and a filtered answer are both content refusals', () => {
  const spoken = failureOf(
    decode(delta({ refusal: 'I cannot ' }), delta({ refusal: 'help.' }), finish('stop'), '[DONE]'),
  )
  assert.equal(spoken.kind, 'content-refused')
  assert.equal(spoken.detail, 'I cannot help.')
  const filtered = failureOf(decode(delta({ content: 'so' }), finish('content_filter'), '[DONE]'))
  assert.equal(filtered.kind, 'content-refused')
})

test('a finish reason that reports an error is a failure', () => {
  assert.equal(failureOf(decode(finish('insufficient_system_resource'), '[DONE]')).kind, 'overloaded')
  assert.equal(failureOf(decode(finish('abort'), '[DONE]')).kind, 'cut-off')
  assert.equal(failureOf(decode(finish('error'), '[DONE]')).kind, 'server-error')
})

test('errors inside the stream go to the classifier with their status', () => {
  const withCode = failureOf(
    decode({ error: { message: 'slow down', code: 429 }, choices: [finish('error').choices[0]] }),
  )
  assert.equal(withCode.status, 429)
  assert.match(withCode.detail, /"message":"slow down"/)
  const bare = failureOf(decode({ object: 'error', message: 'too long', code: '400' }))
  assert.equal(bare.status, 400)
  assert.equal(JSON.parse(bare.detail).error.message, 'too long')
  assert.equal(failureOf(decode({ error: 'out of memory' })).status, undefined)
})

test('data that is not a chunk is a malformed answer, never an exception', () => {
  for (const broken of ['{"choices":', 'null', '[]', '"x"', { choices: [{ delta: { tool_calls: 7 } }] }]) {
    assert.equal(failureOf(decode(broken)).kind, 'malformed-answer', JSON.stringify(broken))
  }
})

test('reasoning is read from either field, once', () => {
  const text = (value: object) => decode(delta(value)).map((part) => part.type === 'reasoning-delta' && part.text)
  assert.deepEqual(text({ reasoning_content: 'a' }), ['a'])
  assert.deepEqual(text({ reasoning: 'b' }), ['b'])
  assert.deepEqual(text({ reasoning: 'c', reasoning_content: 'c' }), ['c'])
  assert.deepEqual(text({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'd' }] }] }), ['d'])
})

test('signed reasoning details are joined and kept, and plain ones are kept as text', () => {
  const piece = (value: object) =>
    delta({ reasoning: 'x', reasoning_details: [{ type: 'reasoning.text', index: 0, ...value }] })
  const parts = decode(
    piece({ text: 'a' }),
    piece({ text: 'b' }),
    piece({ signature: 'sig' }),
    finish('stop'),
    '[DONE]',
  )
  assert.deepEqual(
    parts.find((part) => part.type === 'reasoning-signature'),
    {
      type: 'reasoning-signature',
      signature: '[{"type":"reasoning.text","index":0,"text":"ab","signature":"sig"}]',
      origin: 'openai-chat',
    },
  )
  assert.ok(decode(piece({ text: 'a' }), finish('stop'), '[DONE]').every((part) => part.type !== 'reasoning-signature'))
})

test('usage is reported once, with cached and reasoning tokens', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 8 },
    completion_tokens_details: { reasoning_tokens: 3 },
  }
  const parts = decode({ choices: [], usage: { prompt_tokens: 10 } }, finish('stop'), { choices: [], usage }, '[DONE]')
  assert.deepEqual(parts, [
    { type: 'usage', usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 8, reasoningTokens: 3 } },
    { type: 'finish', finish: 'stop' },
  ])
  const groq = decode({ ...finish('stop'), x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }, '[DONE]')
  assert.deepEqual(groq[0], { type: 'usage', usage: { promptTokens: 1, completionTokens: 2 } })
})
