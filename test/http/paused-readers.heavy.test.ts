import { test } from 'node:test'
import { readAfterPause } from './paused-readers.ts'

test('a hundred paused readers of 120 KB in 3,000 pieces hold no subscription, and each gets all of it and [DONE]', async (t) => {
  await readAfterPause(t, { count: 100, chunkSize: 40 })
})
