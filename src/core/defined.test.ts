import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from './defined.ts'

test('undefined fields are left out; null, false, zero and empty text stay, in their order', () => {
  const fields = { a: undefined, b: null, c: false, d: 0, e: '', f: undefined, g: [1] }
  assert.deepEqual(Object.entries(defined(fields)), [
    ['b', null],
    ['c', false],
    ['d', 0],
    ['e', ''],
    ['g', [1]],
  ])
})

test('a field that may be undefined fits an optional one of its type', () => {
  const limit = (): number | undefined => undefined
  const options: { name: string; limit?: number } = { name: 'a', ...defined({ limit: limit() }) }
  assert.deepEqual(Object.keys(options), ['name'])
  // @ts-expect-error: the type of the field is kept
  const wrong: { limit?: string } = defined({ limit: limit() })
  assert.deepEqual(wrong, {})
})
