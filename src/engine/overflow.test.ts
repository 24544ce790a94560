import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageBody } from '../core/message.ts'
import type { RunSettings } from '../core/run.ts'
import { newTurn } from '../core/turn.ts'
import { makeRoom, windowIn } from './overflow.ts'

const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })

function turnWith(more: Partial<RunSettings> = {}) {
  const settings: RunSettings = {
    targets: ['test/model'],
    maxSteps: 1,
    maxDurationMs: 1,
    streamTokens: false,
    onGuarded: 'deny',
    approvalTtlMs: 1,
    ...more,
  }
  return newTurn({ type: 'input-accepted', v: 1, inputs: [], settings })
}

const content = (messages: MessageBody[], system = '') => ({ system, tools: [], messages })
const three = (length: number) => [user('a'.repeat(length)), user('b'.repeat(length)), user('c')]

test('the limit of the application caps the window of every target', () => {
  const turn = turnWith({ windowLimit: 4_000 })
  assert.equal(windowIn(turn, 'test/model', 200_000), 4_000)
  assert.equal(windowIn(turn, 'test/model', 2_000), 2_000)
  assert.equal(windowIn(turn, 'test/model', undefined), 4_000)
})

test('a limit below the system prompt ends the turn with the reason and sends nothing', () => {
  const { overflow } = makeRoom(content([user('hi')], 's'.repeat(20_000)), {
    turn: turnWith({ windowLimit: 4_000 }),
    window: 4_000,
  })
  assert.equal(overflow?.fixedTokens, 5_001)
  assert.match(overflow?.detail ?? '', /5001 tokens.*window of 4000 tokens/)
})

test('the threshold decides when a conversation is compacted', () => {
  const compaction = { mode: 'all', slidingWindowPercentage: 0.3, clipChars: 1_000 } as const
  const asked = content(three(8_000))
  const at = (threshold: number) =>
    makeRoom(asked, { turn: turnWith({ compaction: { ...compaction, threshold } }), window: 5_000 }).overflow
  assert.equal(at(0.9), undefined)
  assert.match(at(0.5)?.detail ?? '', /exceed 50 % of the context window of 5000/)
})

test('what cannot be compacted is cut to the window, and an unknown window stops nothing', () => {
  const asked = content([user('x'.repeat(100_000))])
  const room = makeRoom(asked, { turn: turnWith(), window: 2_000 })
  assert.ok(room.size.sent <= 2_000 && room.size.sent > 1_500, `${room.size.sent} tokens`)
  assert.equal(makeRoom(asked, { turn: turnWith(), window: undefined }).content, asked)
})
