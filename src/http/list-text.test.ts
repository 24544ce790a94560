import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listText } from './list-text.ts'

const VALUES: object[] = [
  [],
  [1],
  [undefined, null, 'é😀', { a: undefined, b: [] }, [[]]],
  {},
  { data: [] },
  { a: undefined, data: [{ id: 1 }, { id: 2 }], 'quoted "key"': null, has_more: false, last: undefined },
]

test('a list is written as JSON.stringify writes it', async () => {
  for (const value of VALUES) assert.equal(String(await listText(value)), JSON.stringify(value))
})

test('a long list lets other tasks run while it is written, and is the same', async () => {
  const list = Array.from({ length: 40_000 }, (_, id) => ({ id, text: `${id} ü`.repeat(40) }))
  let others = 0
  let isOver = false
  const count = () => {
    others += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const text = await listText(list)
  isOver = true
  assert.ok(text instanceof Buffer)
  assert.equal(text.toString(), JSON.stringify(list))
  assert.ok(others > 1, `${others} other tasks ran`)
})
