import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTurnstile } from '../../src/http/turnstile.ts'

test('a turnstile lets a bounded number of each name in, in order, and a second leave lets nobody else in', async () => {
  const turnstile = newTurnstile(2)
  const inside: string[] = []
  const leaves: (() => void)[] = []
  const entered = ['a1', 'a2', 'a3', 'a4', 'b1'].map(async (name) => {
    leaves.push(await turnstile.enter(name[0]!))
    inside.push(name)
  })
  await new Promise(setImmediate)
  assert.deepEqual(inside, ['a1', 'a2', 'b1'])
  leaves[0]!()
  leaves[0]!()
  await new Promise(setImmediate)
  assert.deepEqual(inside, ['a1', 'a2', 'b1', 'a3'])
  leaves[1]!()
  await Promise.all(entered)
  assert.deepEqual(inside.at(-1), 'a4')
})
