import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Chunk } from '../../src/core/chunk.ts'
import type { RunId } from '../../src/core/id.ts'
import { newStreams } from '../../src/live/streams.ts'
import type { ChunkStore } from '../../src/ports/chunk-store.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

const RUN: RunId = 'run-00000000-0000-4000-8000-000000000001'
const done: Chunk = { message_type: 'done' }

/** Two processes on one chunk log: one with subscribers, and one that writes. */
async function openLog(context: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-idle-'))
  const clock = newVirtualClock()
  const opened = await openSqliteStore({ home, clock, durability: 'relaxed', role: 'owner' })
  context.after(async () => {
    await opened.chunks.close()
    await opened.store.close()
    rmSync(home, { recursive: true, force: true })
  })
  const counts = { heads: 0, reads: 0 }
  const chunks: ChunkStore = {
    ...opened.chunks,
    head: (runId) => {
      counts.heads++
      return opened.chunks.head(runId)
    },
    read: (...wanted) => {
      counts.reads++
      return opened.chunks.read(...wanted)
    },
  }
  const faults: unknown[] = []
  const report = (fault: unknown) => void faults.push(fault)
  return { clock, counts, faults, here: newStreams({ chunks, clock, report }), there: opened.chunks }
}

test('many subscribers of a silent run cause no more store reads than one', async (context) => {
  const { clock, counts, faults, here, there } = await openLog(context)
  await there.open(RUN, 1)
  const watching = Array.from({ length: 200 }, async () => {
    const seen: string[] = []
    for await (const { chunk } of here.watch(RUN, { after: 0, signal: AbortSignal.timeout(60_000) }))
      seen.push(chunk.message_type)
    return seen
  })
  await clock.advance(1_000)
  const before = { ...counts }
  await clock.advance(60_000)
  assert.ok(counts.heads - before.heads <= 600, `${counts.heads - before.heads} heads in a minute`)
  assert.equal(counts.reads, before.reads)

  // Another process writes: every subscriber gets the chunks and the end.
  await there.append([
    { runId: RUN, fence: 1, floor: 0, at: 0, ended: true, chunks: [{ event: 0, body: JSON.stringify(done) }] },
  ])
  await clock.advance(1_000)
  for (const seen of await Promise.all(watching)) assert.deepEqual(seen, ['done'])
  const after = counts.heads
  await clock.advance(10_000)
  assert.equal(counts.heads, after, 'without subscribers the store is not polled')
  assert.deepEqual(faults, [])
})
