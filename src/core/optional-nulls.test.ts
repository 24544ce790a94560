import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutOptionalNulls } from './optional-nulls.ts'

const schema = {
  type: 'object',
  required: ['must'],
  properties: {
    must: { type: 'string' },
    may: { type: 'string' },
    nullable: { type: ['string', 'null'] },
    choice: { enum: ['a', null] },
    either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    free: {},
    inner: { type: 'object', properties: { deep: { type: 'integer' } } },
    list: { type: 'array', items: { type: 'object', properties: { deep: { type: 'integer' } } } },
  },
}

test('a null that the schema does not permit is left out where the property is optional, at every depth', () => {
  const sent = { must: 'x', may: null, inner: { deep: null }, list: [{ deep: null }, { deep: 1 }] }
  assert.deepEqual(withoutOptionalNulls(sent, schema), { must: 'x', inner: {}, list: [{}, { deep: 1 }] })
})

test('a null that means something stays, and so does one that the check of the arguments must see', () => {
  const kept = { must: null, nullable: null, choice: null, either: null, free: null, unknown: null }
  assert.deepEqual(withoutOptionalNulls(kept, schema), kept)
  for (const odd of [null, 'text', 7, [null]]) assert.deepEqual(withoutOptionalNulls(odd, schema), odd)
  assert.deepEqual(withoutOptionalNulls({ a: null }, null), { a: null })
})
