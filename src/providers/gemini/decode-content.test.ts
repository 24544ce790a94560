import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Refusal } from '../wire/dialect.ts'
import { newContentDecoder } from './decode-content.ts'

function decode(...chunks: (object | string)[]): { parts: Part[]; refusals: Refusal[] } {
  const refusals: Refusal[] = []
  const decoder = newContentDecoder({
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    headers: {},
    classify(refusal) {
      refusals.push(refusal)
      return { kind: 'overloaded', detail: 'no room' }
    },
  })
  const taken = chunks.flatMap((chunk) =>
    decoder.take({ data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  )
  return { parts: [...taken, ...decoder.end()], refusals }
}

const chunk = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { parts }, ...defined({ finishReason: finishReason || undefined }) }],
})
const endOf = (...chunks: (object | string)[]): string | undefined => {
  const part = decode(...chunks).parts.at(-1)
  if (part?.type === 'failure') return part.failure.kind
  return part?.type === 'finish' ? part.finish : part?.type
}

test('each finish reason is a finish or a failure', () => {
  const cases: Record<string, string> = {
    STOP: 'stop',
    MAX_TOKENS: 'length',
    SAFETY: 'content-refused',
    RECITATION: 'content-refused',
    PROHIBITED_CONTENT: 'content-refused',
    BLOCKLIST: 'content-refused',
    SPII: 'content-refused',
    MALFORMED_FUNCTION_CALL: 'malformed-answer',
    UNEXPECTED_TOOL_CALL: 'malformed-answer',
    OTHER: 'malformed-answer',
    MISSING_THOUGHT_SIGNATURE: 'signature-rejected',
    SOMETHING_NEW: 'malformed-answer',
    toString: 'malformed-answer',
  }
  for (const [reason, end] of Object.entries(cases)) assert.equal(endOf(chunk([{ text: 'Hi' }], reason)), end, reason)
  assert.equal(endOf(chunk([{ functionCall: { name: 'look' } }]), chunk([], 'STOP')), 'tool-calls')
})

test('a blocked prompt is a refusal with the reason', () => {
  const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 7 } }
  const { parts } = decode(blocked)
  assert.deepEqual(parts, [
    { type: 'usage', usage: { promptTokens: 7, completionTokens: 0 } },
    {
      type: 'failure',
      failure: {
        kind: 'content-refused',
        code: 'PROHIBITED_CONTENT',
        detail: 'the prompt was blocked: PROHIBITED_CONTENT',
        mayHaveBeenAccepted: true,
      },
    },
  ])
})

test('an error event inside a 200 is classified by its code, and ends the answer', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  const { parts, refusals } = decode(chunk([{ text: 'Hi' }]), error, chunk([], 'STOP'))
  assert.deepEqual(
    parts.map(({ type }) => type),
    ['text-delta', 'failure'],
  )
  assert.deepEqual(refusals, [
    { provider: 'gemini', model: 'gemini-2.5-pro', headers: {}, status: 503, body: JSON.stringify(error) },
  ])
})

test('a stream without a finish reason has no finish', () => {
  assert.equal(endOf(chunk([{ text: 'Hi' }])), 'text-delta')
  assert.equal(endOf(), undefined)
})

test('empty chunks are skipped, and an event that is not a chunk is a failure', () => {
  assert.deepEqual(decode({}, { candidates: [] }, { candidates: [{ content: null }] }, chunk([{}])).parts, [])
  assert.deepEqual(decode({ candidates: [{ content: { parts: [null, 3] } }] }).parts, [])
  for (const broken of ['{"candidates":', 'null', '[]', '']) assert.equal(endOf(broken), 'malformed-answer')
})

test('a call without an id has an empty one, and a call without arguments gets an empty object', () => {
  assert.deepEqual(decode(chunk([{ functionCall: { name: 'look' }, thoughtSignature: 's' }])).parts, [
    { type: 'call-start', index: 0, callId: '', tool: 'look', signature: 's' },
    { type: 'call-delta', index: 0, json: '{}' },
  ])
})
