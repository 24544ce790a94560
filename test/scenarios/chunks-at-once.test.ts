import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Chunk } from '../../src/core/chunk.ts'
import type { RunId } from '../../src/core/id.ts'
import { newStreams } from '../../src/live/streams.ts'
import type { ChunkStore, SyncChunkAppend } from '../../src/ports/chunk-store.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

const RUN: RunId = 'run-00000000-0000-4000-8000-000000000001'
const ANSWER = 'message-00000000-0000-4000-8000-000000000002'

const piece = (content: string): Chunk => ({ message_type: 'assistant_message', id: ANSWER, content })
const bodies = (...texts: string[]) => texts.map((body) => ({ event: 0, body }))

async function openLog(context: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-pieces-'))
  const clock = newVirtualClock()
  const { chunks, store } = await openSqliteStore({ home, clock, durability: 'relaxed', role: 'owner' })
  context.after(async () => {
    await chunks.close()
    await store.close()
    rmSync(home, { recursive: true, force: true })
  })
  return { chunks, clock }
}

/** A watched stream whose chunk log counts its writes and can fail. */
async function openWatched(context: TestContext, fault?: () => unknown) {
  const { chunks, clock } = await openLog(context)
  const writes = { atOnce: 0, shared: 0 }
  const counted: ChunkStore = {
    ...chunks,
    append(appends) {
      writes.shared++
      return chunks.append(appends)
    },
    appendSync(one) {
      const thrown = fault?.()
      if (thrown) throw thrown
      writes.atOnce++
      return chunks.appendSync!(one)
    },
  }
  const faults: unknown[] = []
  const streams = newStreams({ chunks: counted, clock, report: (thrown) => void faults.push(thrown) })
  const options = { fence: 1, bound: 1_000, raiseBound: async () => undefined }
  const stream = await streams.open(RUN, options)
  assert.notEqual(stream, 'fenced')
  if (stream === 'fenced') throw new Error('unreachable')
  const over = new AbortController()
  context.after(() => over.abort())
  const watch = streams.watch(RUN, { after: 0, signal: over.signal })
  const next = async () => {
    const { value } = await watch.next()
    if (typeof value !== 'object') throw new Error(`the stream ended: ${value}`)
    return [value.number, value.chunk.message_type === 'assistant_message' ? value.chunk.content : '?'] as const
  }
  // The first chunk is written with the head of the stream, in a shared write.
  stream.write([piece('one')], 0)
  assert.deepEqual(await next(), [1, 'one'])
  writes.shared = 0
  return { chunks, clock, stream, next, writes, faults }
}

test('a delta that is published at once is already in the log', async (context) => {
  const { chunks, clock, stream, next, writes, faults } = await openWatched(context)
  await clock.advance(5)
  stream.write([piece('two')], 0)
  const [kept] = await chunks.read(RUN, 1, 10)
  assert.deepEqual([kept?.number, JSON.parse(kept!.body).content], [2, 'two'])
  assert.deepEqual(await next(), [2, 'two'])
  assert.deepEqual([writes, faults], [{ atOnce: 1, shared: 0 }, []])
  assert.equal(await stream.settle(), 2)
})

test('deltas of a burst share a write', async (context) => {
  const { clock, stream, next, writes } = await openWatched(context)
  await clock.advance(5)
  const texts = Array.from({ length: 20 }, (_, index) => `${index} `)
  for (const text of texts) stream.write([piece(text)], 0)
  const received: string[] = []
  for (const [index] of texts.entries()) {
    const [number, text] = await next()
    assert.equal(number, index + 2)
    received.push(text)
  }
  assert.deepEqual(received, texts)
  assert.deepEqual(writes, { atOnce: 1, shared: 1 })
})

test('a delta that cannot be written synchronously is written once, with the next shared write', async (context) => {
  const thrown = [new StorageError('busy', 'the chunk log')]
  const { chunks, clock, stream, next, writes, faults } = await openWatched(context, () => thrown.pop())
  await clock.advance(5)
  stream.write([piece('two')], 0)
  await clock.advance(5)
  stream.write([piece('three')], 0)
  assert.deepEqual(
    [await next(), await next()],
    [
      [2, 'two'],
      [3, 'three'],
    ],
  )
  assert.deepEqual([(await chunks.read(RUN, 0, 10)).length, writes.atOnce + writes.shared, faults], [3, 2, []])
})

test('a writer that takes a stream over continues after the deltas written synchronously', async (context) => {
  const { chunks } = await openLog(context)
  await chunks.open(RUN, 1)
  const add = (one: Partial<SyncChunkAppend>) =>
    chunks.appendSync!({ runId: RUN, fence: 1, last: 0, chunks: bodies('"x"'), ...one })
  const first = { runId: RUN, fence: 1, floor: 0, chunks: bodies('"a"', '"b"'), ended: false, at: 0 }
  assert.deepEqual(await chunks.append([first]), [1])
  assert.equal(add({ last: 2, chunks: bodies('"c"') }), true)
  assert.equal(add({ last: 3, chunks: bodies('"d"', '"e"') }), true)
  assert.equal((await chunks.head(RUN))?.last, 5)

  assert.equal(add({ last: 3 }), false, 'another writer has written there')
  assert.equal(add({ last: 6 }), false, 'a chunk before it is missing')
  assert.deepEqual(await chunks.open(RUN, 2), { last: 5, lastEvent: 0, ended: false, mayHaveLost: false })
  assert.equal(add({ last: 5 }), false, 'another writer holds the stream')
  assert.equal(add({ last: 5, fence: 2, chunks: bodies('"f"') }), true)
  assert.deepEqual(await chunks.append([{ ...first, fence: 2, last: 6, chunks: bodies('"g"'), ended: true }]), [7])
  assert.equal(add({ last: 7, fence: 2 }), false, 'the stream has ended')
  assert.deepEqual(
    (await chunks.read(RUN, 0, 10)).map(({ number, body }) => `${number}${body}`),
    ['1"a"', '2"b"', '3"c"', '4"d"', '5"e"', '6"f"', '7"g"'],
  )
})
