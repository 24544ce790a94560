import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { NumberedChunk } from '../../src/core/chunk.ts'
import type { RunId } from '../../src/core/id.ts'
import { newStreams } from '../../src/live/streams.ts'
import { shareSqliteStore } from '../../src/storage/sqlite.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

const RUN: RunId = 'run-00000000-0000-4000-8000-000000000001'

test('a subscriber whose stream was lost gets it rebuilt and reads it to its end', async (context) => {
  const database = new DatabaseSync(':memory:')
  const clock = newVirtualClock()
  const { chunks, store } = await shareSqliteStore({ database, clock, ownership: 'sole' })
  context.after(async () => {
    await store.close()
    database.close()
  })
  const streams = newStreams({ chunks, clock, report: assert.fail })
  const over = new AbortController()
  context.after(() => over.abort())
  let asked = 0
  const whenMissing = async () => {
    // Not at once: the run may only be queued.
    if (++asked < 2) return
    const done = { event: 1, body: JSON.stringify({ message_type: 'done' }) }
    await chunks.append([{ runId: RUN, fence: 1, floor: 0, isFirst: true, ended: true, at: 0, chunks: [done] }])
  }
  const watch = streams.watch(RUN, { after: 0, signal: over.signal, whenMissing })
  const next = watch.next()
  for (let round = 0; round < 100 && asked < 2; round++) await clock.advance(100)
  assert.equal(asked, 2)
  assert.equal(((await next).value as NumberedChunk).chunk.message_type, 'done')
  assert.deepEqual(await watch.next(), { done: true, value: 'done' })
})
