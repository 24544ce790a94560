import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editDistance, nearestName } from './nearest-name.ts'

const NAMES = ['model', 'fallback', 'embedding', 'embed_messages', 'providers', 'limits', 'workspaces']

test('a typing error finds the name that was meant', () => {
  const slips = { modle: 'model', Model: 'model', fallbck: 'fallback', provider: 'providers', limit: 'limits' }
  for (const [slip, meant] of Object.entries(slips)) assert.equal(nearestName(slip, NAMES), meant)
})

test('a word that is not similar to any name gets no suggestion', () => {
  for (const word of ['cpu', 'temperature', '', 'x']) assert.equal(nearestName(word, NAMES), undefined)
  assert.equal(nearestName('model', []), undefined)
})

test('of several names the nearest is suggested', () => {
  assert.equal(nearestName('tiemout_ms', ['stall_timeout_ms', 'timeout_ms']), 'timeout_ms')
})

test('insertions, deletions, replacements and swaps each count as one', () => {
  assert.equal(editDistance('model', 'models'), 1)
  assert.equal(editDistance('model', 'mode'), 1)
  assert.equal(editDistance('model', 'modal'), 1)
  assert.equal(editDistance('model', 'modle'), 1)
  assert.equal(editDistance('', 'model'), 5)
})

test('the distance is symmetric, and 0 only between equal words', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (one, other) => {
      const distance = editDistance(one, other)
      assert.equal(distance, editDistance(other, one))
      assert.equal(distance === 0, one === other)
      assert.ok(distance <= Math.max(one.length, other.length))
    }),
  )
})
