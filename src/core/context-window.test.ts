import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillLimit, LEAST_ROOM, smallerWindow, windowFault } from './context-window.ts'
import { defined } from './defined.ts'

const refused = { sent: 10_000, fixed: 500, isLowered: false }

test('a stated window is assumed; without one the window steps down, first by a quarter and then by halves', () => {
  assert.equal(smallerWindow({ ...refused, stated: 8_000 }), 8_000)
  assert.equal(smallerWindow(refused), 7_500)
  assert.equal(smallerWindow({ ...refused, window: 7_500, sent: 6_000, isLowered: true }), 3_000)
})

test('the window is always below what was refused, so the same request is not sent again', () => {
  // The provider counts more tokens than the estimate.
  assert.equal(smallerWindow({ ...refused, stated: 12_000 }), 9_000)
  assert.equal(smallerWindow({ ...refused, window: 12_000, stated: 12_000 }), 7_500)
})

test('a statement that contradicts the estimate is believed once, and then the window steps down', () => {
  const small = { ...refused, sent: 1_500, stated: 8_000 }
  assert.equal(smallerWindow(small), 8_000)
  assert.equal(smallerWindow({ ...small, window: 8_000, isLowered: true }), 500 + LEAST_ROOM)
})

test('repeated refusals end when only the system prompt and the tools are left', () => {
  let window: number | undefined
  let sent = 1_000_000
  let rounds = 0
  for (; rounds < 100; rounds++) {
    const next = smallerWindow({ sent, fixed: 500, isLowered: rounds > 0, ...defined({ window }) })
    if (next === undefined) break
    assert.ok(next < Math.min(window ?? Number.POSITIVE_INFINITY, sent))
    window = next
    sent = Math.min(sent, window)
  }
  assert.ok(rounds < 15, `${rounds} rounds`)
  assert.equal(window, 500 + LEAST_ROOM)
})

test('a window without room for a conversation is named, with what it would need', () => {
  assert.equal(windowFault(8_000, 500), undefined)
  assert.match(windowFault(600, 500)!, /take about 500 tokens.*window of 600 tokens/)
})

test('the threshold leaves room for a conversation whatever the system prompt takes', () => {
  assert.equal(fillLimit({ window: 1_000, threshold: 0.5, fixed: 100 }), 500)
  assert.equal(fillLimit({ window: 1_000, threshold: 0.5, fixed: 400 }), 400 + LEAST_ROOM)
  assert.equal(fillLimit({ window: 1_000, threshold: 0.5, fixed: 900 }), 1_000)
})
