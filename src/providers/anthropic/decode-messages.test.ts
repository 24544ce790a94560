import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Refusal } from '../wire/dialect.ts'
import { newMessagesDecoder } from './decode-messages.ts'

const START = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }
const text = (value: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: value } })
const stop = (reason: string | null, details?: object) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, ...defined({ stop_details: details || undefined }) },
})
const END = { type: 'message_stop' }

function decode(...events: (object | string)[]): { parts: Part[]; refusals: Refusal[] } {
  const refusals: Refusal[] = []
  const decoder = newMessagesDecoder({
    provider: 'anthropic',
    model: 'claude-opus-5',
    headers: { 'request-id': 'req_1' },
    classify(refusal) {
      refusals.push(refusal)
      return { kind: 'overloaded', detail: 'no room' }
    },
  })
  const taken = events.flatMap((event) =>
    decoder.take({ data: typeof event === 'string' ? event : JSON.stringify(event) }),
  )
  return { parts: [...taken, ...decoder.end()], refusals }
}

const endOf = (...events: (object | string)[]): Part | undefined => decode(...events).parts.at(-1)
const kindOf = (part: Part | undefined) => (part?.type === 'failure' ? part.failure.kind : part?.type)

test('each stop reason is a finish or a failure', () => {
  const finish = (reason: string) => {
    const end = endOf(START, text('Hi'), stop(reason), END)
    return end?.type === 'finish' ? end.finish : kindOf(end)
  }
  assert.deepEqual(
    ['end_turn', 'stop_sequence', 'tool_use', 'max_tokens', 'pause_turn', 'model_context_window_exceeded'].map(finish),
    ['stop', 'stop', 'tool-calls', 'length', 'length', 'length'],
  )
  assert.equal(finish('refusal'), 'content-refused')
  assert.equal(finish('something_new'), 'malformed-answer')
  assert.equal(kindOf(endOf(START, stop('model_context_window_exceeded'), END)), 'context-overflow')
})

test('a refusal has its reason', () => {
  const end = endOf(START, stop('refusal', { type: 'refusal', category: 'bio', explanation: 'Too risky.' }), END)
  assert.deepEqual(end, {
    type: 'failure',
    failure: { kind: 'content-refused', detail: 'Too risky.', code: 'bio', mayHaveBeenAccepted: true },
  })
})

test('an end without a stop reason is not a finish, and a stop reason without an end is one', () => {
  assert.equal(endOf(START, text('Hi'), stop(null), END)?.type, 'text-delta')
  assert.equal(endOf(START, text('Hi'))?.type, 'text-delta')
  assert.equal(endOf(START, text('Hi'), stop('end_turn'))?.type, 'finish')
})

test('an error event inside a 200 is classified with the headers of the response, and ends the answer', () => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const { parts, refusals } = decode(START, text('Hi'), error, text('more'), stop('end_turn'), END)
  assert.deepEqual(parts.at(-1), {
    type: 'failure',
    failure: { kind: 'overloaded', detail: 'no room', mayHaveBeenAccepted: true },
  })
  assert.deepEqual(refusals, [
    { provider: 'anthropic', model: 'claude-opus-5', headers: { 'request-id': 'req_1' }, body: JSON.stringify(error) },
  ])
})

test('pings and unknown event types are skipped, and data that is not an event is a failure', () => {
  assert.deepEqual(decode({ type: 'ping' }, { type: 'thread_started', id: 1 }, '[DONE]').parts, [])
  for (const broken of ['{"type":', 'null', '3', '"text"', ''])
    assert.equal(kindOf(endOf(START, broken)), 'malformed-answer')
  assert.equal(kindOf(endOf({ type: 'content_block_start', index: 0 })), 'malformed-answer')
  assert.equal(kindOf(endOf({ type: 'content_block_delta', index: 0, delta: null })), 'malformed-answer')
  assert.equal(kindOf(endOf({ type: 'message_start' })), 'usage')
})

test('calls are numbered from zero, also with other blocks between them', () => {
  const call = (index: number, id: string, input = {}) => ({
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id, name: 'look', input },
  })
  const close = (index: number) => ({ type: 'content_block_stop', index })
  const server = {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'server_tool_use', id: 's', name: 'x' },
  }
  const json = (index: number) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json: '{"a":1}' },
  })
  const { parts } = decode(call(1, 'a'), server, json(2), call(3, 'b', { whole: true }), json(1), close(1), close(3))
  assert.deepEqual(parts, [
    { type: 'call-start', index: 0, callId: 'a', tool: 'look' },
    { type: 'call-start', index: 1, callId: 'b', tool: 'look' },
    { type: 'call-delta', index: 0, json: '{"a":1}' },
    { type: 'call-delta', index: 1, json: '{"whole":true}' },
  ])
})

test('usage adds cached tokens to the prompt, and a count that is absent later does not change', () => {
  const start = { input_tokens: 10, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 200, output_tokens: 1 }
  const { parts } = decode(
    { type: 'message_start', message: { usage: start } },
    { ...stop('end_turn'), usage: { input_tokens: 10, cache_read_input_tokens: null, output_tokens: 50 } },
    END,
  )
  assert.deepEqual(parts.at(-2), {
    type: 'usage',
    usage: { promptTokens: 1_210, completionTokens: 50, cachedTokens: 1_000, cacheWriteTokens: 200 },
  })
})
