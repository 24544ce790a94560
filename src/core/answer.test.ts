import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPart, answerFailure, cutContent, newDraft, type Part } from './answer.ts'

function draftOf(...parts: Part[]) {
  const draft = newDraft()
  for (const part of parts) addPart(draft, part)
  return draft
}
const text = (words: string): Part => ({ type: 'text-delta', text: words })
const thought = (words: string): Part => ({ type: 'reasoning-delta', text: words })
const begin = (index: number): Part => ({ type: 'call-start', index, callId: `c${index}`, tool: 'thing' })
const json = (index: number, piece: string): Part => ({ type: 'call-delta', index, json: piece })
const finish = (how: 'stop' | 'tool-calls' | 'length'): Part => ({ type: 'finish', finish: how })

test('deltas of one kind become one part, in the order they came', () => {
  const { content } = draftOf(thought('let me '), thought('see'), text('Hel'), text('lo'), thought('hm'))
  assert.deepEqual(content, [
    { type: 'reasoning', text: 'let me see' },
    { type: 'text', text: 'Hello' },
    { type: 'reasoning', text: 'hm' },
  ])
})

test('a signature closes its reasoning part and stays with it', () => {
  const signed: Part = { type: 'reasoning-signature', signature: 's' }
  assert.deepEqual(draftOf(thought('a'), signed, thought('b')).content, [
    { type: 'reasoning', text: 'a', signature: 's' },
    { type: 'reasoning', text: 'b' },
  ])
  assert.deepEqual(draftOf(signed).content, [{ type: 'reasoning', text: '', signature: 's' }])
})

test('interleaved call deltas are assembled by their index', () => {
  const { calls } = draftOf(begin(0), begin(1), json(1, '{"b"'), json(0, '{"a"'), json(1, ':2}'), json(0, ':1}'))
  assert.deepEqual(calls, [
    { callId: 'c0', tool: 'thing', json: '{"a":1}' },
    { callId: 'c1', tool: 'thing', json: '{"b":2}' },
  ])
})

test('arguments that arrive before the name of the call are kept', () => {
  assert.deepEqual(draftOf(json(0, '{}'), begin(0)).calls, [{ callId: 'c0', tool: 'thing', json: '{}' }])
})

test('a whole answer has no fault', () => {
  assert.equal(answerFailure(draftOf(text('Hello'), finish('stop'))), undefined)
  assert.equal(answerFailure(draftOf(begin(0), finish('tool-calls'))), undefined)
})

test('text that reached the output limit is a truncated answer', () => {
  assert.equal(answerFailure(draftOf(text('Hel'), finish('length')))?.kind, 'text-truncated')
})

test('an answer without a finish is a failure that may have been accepted', () => {
  const fault = answerFailure(draftOf(text('Hello')))
  assert.equal(fault?.kind, 'cut-off')
  assert.equal(fault?.mayHaveBeenAccepted, true)
})

test('a call cut off by the output limit never runs', () => {
  assert.equal(answerFailure(draftOf(begin(0), json(0, '{"rm'), finish('length')))?.kind, 'call-truncated')
})

test('reasoning or blanks alone are not an answer', () => {
  assert.equal(answerFailure(draftOf(thought('hm'), text(' \n'), finish('stop')))?.kind, 'thinking-only')
  assert.equal(answerFailure(draftOf(thought('hm'), finish('length')))?.kind, 'thinking-exhausted')
  assert.equal(answerFailure(draftOf(text(' \n'), finish('stop')))?.kind, 'empty-answer')
})

test('a failure the provider reports takes precedence over our own check', () => {
  const failure = { kind: 'rate-limited', detail: '429' } as const
  assert.deepEqual(answerFailure(draftOf(text('Hel'), { type: 'failure', failure }, finish('stop'))), failure)
})

test('a cut answer keeps its text and no reasoning', () => {
  assert.deepEqual(cutContent(draftOf(thought('hm'), text('Hel'), text('lo'))), [{ type: 'text', text: 'Hello' }])
  assert.deepEqual(cutContent(draftOf(thought('hm'))), [])
})
