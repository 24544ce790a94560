import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newOwnership } from './ownership.ts'

function open(answers: (boolean | Error)[]) {
  const state = { at: 0, lost: 0, faults: 0, asked: 0 }
  const ownership = newOwnership({
    clock: { monotonic: () => state.at },
    async verify() {
      state.asked += 1
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer ?? true
    },
    lost: () => void state.lost++,
    failed: () => void state.faults++,
  })
  return { state, ownership, settle: () => new Promise((resolve) => setImmediate(resolve)) }
}

test('an account that is looked after every second is fresh, and nothing is asked', () => {
  const { state, ownership } = open([])
  for (; state.at < 60_000; state.at += 1_000) {
    ownership.tick()
    assert.ok(ownership.isFresh())
  }
  assert.equal(state.asked, 0)
})

test('after a pause nothing is sent until the account is proven, and a tick does not count as a proof', async () => {
  const { state, ownership, settle } = open([new Error('the store is away'), true])
  state.at = 8_000
  ownership.tick()
  assert.equal(ownership.isFresh(), false)
  await settle()
  assert.deepEqual([state.asked, state.faults], [1, 1])
  assert.equal(ownership.isFresh(), false)
  await settle()
  assert.ok(ownership.isFresh())
  assert.deepEqual([state.asked, state.lost], [2, 0])
})

test('an account that was taken in a pause is lost', async () => {
  const { state, ownership, settle } = open([false])
  state.at = 20_000
  assert.equal(ownership.isFresh(), false)
  await settle()
  assert.equal(state.lost, 1)
  assert.equal(ownership.isFresh(), false)
})
