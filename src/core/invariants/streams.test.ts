import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../chunk.ts'
import type { TurnEvent } from '../event.ts'
import type { Run } from '../run.ts'
import { checkStream } from './all.ts'
import type { StreamRecord } from './record.ts'

const run: Run = {
  id: 'run-1',
  organizationId: 'org-1',
  agentId: 'agent-1',
  conversationId: 'conv-1',
  status: 'completed',
  waiting: false,
  stopReason: 'end_turn',
  background: false,
  metadata: {},
  createdAt: 1,
  completedAt: 2,
  fence: 1,
  nextSeq: 4,
  deaths: 0,
  chunkBound: 10_000,
}
const answer: TurnEvent = {
  type: 'answer-received',
  v: 1,
  stepId: 'step-1',
  answerId: 'message-1',
  resultsId: 'message-2',
  target: 0,
  content: [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'Hello' },
  ],
  calls: [],
  finish: 'stop',
  usage: { promptTokens: 1, completionTokens: 1 },
  inputsRead: 1,
  streamedTo: 3,
}
const settings = {
  targets: ['a/1' as const],
  maxSteps: 1,
  maxDurationMs: 1,
  streamTokens: true,
  onGuarded: 'ask' as const,
  approvalTtlMs: 1,
}
const log: TurnEvent[] = [
  { type: 'input-accepted', v: 1, inputs: [], settings },
  answer,
  { type: 'turn-ended', v: 1, stopReason: 'end_turn' },
]

const text = (content: string, id: `message-${string}` = 'message-1'): [number, Chunk] => [
  0,
  { message_type: 'assistant_message', id, content },
]
const thought: [number, Chunk] = [0, { message_type: 'reasoning_message', id: 'message-1', reasoning: 'hm' }]
const reset = (id: `message-${string}` | null): [number, Chunk] => [
  0,
  { message_type: 'message_reset', id, reason: 'x' },
]
const stop: [number, Chunk] = [3, { message_type: 'stop_reason', stop_reason: 'end_turn' }]
const done: [number, Chunk] = [3, { message_type: 'done' }]

function streamOf(written: [number, Chunk][], more: Partial<StreamRecord> = {}): StreamRecord {
  const chunks = written.map(([event, chunk], index) => ({ number: index + 1, event, body: JSON.stringify(chunk) }))
  return { run, events: log.map((event, index) => ({ seq: index + 1, at: 1, event })), chunks, ended: true, ...more }
}

const found = (record: StreamRecord) => checkStream(record).map((violation) => violation.invariant)
const sound = streamOf([thought, text('Hel'), text('lo'), stop, done])

test('a sound stream violates no invariant: whole, with reset text, with text sent again, and after a loss', () => {
  assert.deepEqual(checkStream(sound), [])
  assert.deepEqual(
    checkStream(streamOf([text('Oh', 'message-9'), reset('message-9'), thought, text('Hello'), stop, done])),
    [],
  )
  assert.deepEqual(
    checkStream(streamOf([thought, text('Hel'), reset('message-1'), thought, text('Hello'), stop, done])),
    [],
  )
  const lossy = streamOf([text('Hel'), reset(null), stop, done])
  const gap = lossy.chunks.map((chunk, index) => (index === 0 ? chunk : { ...chunk, number: chunk.number + 10_000 }))
  assert.deepEqual(checkStream({ ...lossy, chunks: gap }), [])
})

test('I24 reports a gap without a mark, a repeated number and an event that is not in the log', () => {
  const renumbered = (number: (index: number) => number) =>
    sound.chunks.map((chunk, index) => ({ ...chunk, number: number(index) }))
  assert.ok(found({ ...sound, chunks: renumbered((index) => index + 2) }).includes('I24'))
  assert.ok(found({ ...sound, chunks: renumbered((index) => Math.max(index, 1)) }).includes('I24'))
  assert.ok(found({ ...sound, chunks: sound.chunks.map((chunk) => ({ ...chunk, event: 9 })) }).includes('I24'))
  assert.ok(found(streamOf([thought, text('Hello'), [3, stop[1]], [2, done[1]]])).includes('I24'))
})

test('I25 reports a missing end, a second one, one that is not last and a wrong reason', () => {
  assert.deepEqual(found(streamOf([thought, text('Hello'), stop])), ['I25'])
  assert.deepEqual(found(streamOf([thought, text('Hello'), stop, done, done])), ['I25'])
  assert.deepEqual(found(streamOf([thought, text('Hello'), done, stop])), ['I25'])
  assert.deepEqual(
    found(streamOf([thought, text('Hello'), [3, { message_type: 'stop_reason', stop_reason: 'error' }], done])),
    ['I25'],
  )
  assert.deepEqual(found({ ...sound, ended: false }), ['I25', 'I25'])
  assert.deepEqual(found({ ...sound, events: sound.events.slice(0, 2) }), ['I24', 'I24', 'I25', 'I25'])
})

test('I25 requires no end from a running run or one cancelled in the queue', () => {
  assert.deepEqual(
    checkStream({ ...sound, events: sound.events.slice(0, 1), chunks: sound.chunks.slice(0, 2), ended: false }),
    [],
  )
  assert.deepEqual(
    checkStream({ ...sound, run: { ...run, fence: 0 }, events: [log[0]!, log[2]!].map(at), chunks: [], ended: false }),
    [],
  )
})

test('I26 reports text that differs from the message, and text that was never reset', () => {
  assert.deepEqual(found(streamOf([thought, text('Hel'), stop, done])), ['I26'])
  assert.deepEqual(found(streamOf([text('Hello'), stop, done])), ['I26'])
  assert.deepEqual(found(streamOf([thought, text('Hello'), text('Hello'), stop, done])), ['I26'])
  assert.deepEqual(found(streamOf([text('Oh', 'message-9'), thought, text('Hello'), stop, done])), ['I26'])
})

const at = (event: TurnEvent, index: number) => ({ seq: index + 1, at: 1, event })

test('a continued text is streamed once, from its beginning to its end', () => {
  const kept = { answerId: 'message-1' as const, content: [{ type: 'text' as const, text: 'Hel' }], streamedTo: 1 }
  const cut: TurnEvent = {
    type: 'attempt-failed',
    v: 1,
    target: 0,
    failure: { kind: 'text-truncated', detail: '' },
    remedy: 'continue',
    retryAt: 0,
    kept,
  }
  const rest: TurnEvent = { ...answer, content: [{ type: 'text', text: 'lo' }], isRest: true, streamedTo: 0 }
  const continued = [log[0]!, cut, rest, log[2]!].map((event, index) => ({ seq: index + 1, at: 1, event }))
  const end: [number, Chunk][] = [
    [4, { message_type: 'stop_reason', stop_reason: 'end_turn' }],
    [4, { message_type: 'done' }],
  ]
  assert.deepEqual(checkStream(streamOf([text('Hel'), text('lo'), ...end], { events: continued })), [])
  assert.deepEqual(found(streamOf([text('Hel'), text('Hello'), ...end], { events: continued })), ['I26'])
  assert.deepEqual(found(streamOf([text('lo'), ...end], { events: continued })), ['I26'])
})

test('I26 reports arguments that differ, that are doubled, that lost their guard, and a call that was never reset', () => {
  const call = { callId: 'c', tool: 'post', input: { a: 1 }, digest: 'd', effects: 'once', parallel: true } as const
  const calling = (needsApproval: boolean) => [
    log[0]!,
    { ...answer, content: [], calls: [{ ...call, needsApproval }] } as TurnEvent,
    log[2]!,
  ]
  const piece = (json: string, more: object = {}): [number, Chunk] => [
    0,
    { message_type: 'tool_call_delta', id: 'message-1', tool_call_id: 'c', arguments: json, ...more },
  ]
  const first = piece('{"a"', { name: 'post' })
  const check = (pieces: [number, Chunk][], needsApproval = false) =>
    found(streamOf([...pieces, stop, done], { events: calling(needsApproval).map(at) }))
  assert.deepEqual(check([first, piece(':1}')]), [])
  assert.deepEqual(check([first, reset('message-1'), first, piece(':1}')]), [])
  assert.deepEqual(check([piece('{"a":1}', { name: 'post', needs_approval: true })], true), [])
  assert.deepEqual(check([first]), ['I26'])
  assert.deepEqual(check([first, piece(':1}'), first, piece(':1}')]), ['I26'])
  assert.deepEqual(check([first, piece(':1}')], true), ['I26'])
  assert.deepEqual(check([piece('{"a":1}', { name: 'send' })]), ['I26'])
  const abandoned: [number, Chunk] = [0, { ...first[1], id: 'message-9' } as Chunk]
  assert.deepEqual(check([abandoned, first, piece(':1}')]), ['I26'])
  assert.deepEqual(check([abandoned, reset('message-9'), first, piece(':1}')]), [])
})
