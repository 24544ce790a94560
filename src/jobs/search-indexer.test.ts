import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../ports/embeddings.ts'
import { startSearchIndexer } from './search-indexer.ts'

const NO_EMBEDDER: Embedder = {
  serves: () => false,
  dimensionsOf: () => undefined,
  embed: async () => ({ type: 'vectors', vectors: [] }),
}

/** An indexer with a clock that the test ticks, and a store that counts its calls. */
function searchIndexerFixture(catchUp: () => Promise<'done' | 'more'>) {
  const faults: unknown[] = []
  let tick = () => {}
  let calls = 0
  let turns = 0
  let isTicking = true
  let looks = 0
  const clock = {
    monotonic: () => 0,
    sleep: async () => undefined,
    every: (_: number, task: () => void) => {
      tick = task
      return () => {
        tick = () => {}
        isTicking = false
      }
    },
  }
  const emptyVectors = {
    models: async () => [],
    waiting: async () => {
      looks += 1
      return []
    },
  }
  const store = {
    messageSearch: {
      catchUp() {
        calls += 1
        return catchUp()
      },
      vectors: emptyVectors,
    },
    passages: { vectors: emptyVectors },
  }
  const context = {
    deps: { store, clock, report: (fault: unknown) => void faults.push(fault) },
    engine: { dispatcher: { running: () => Array.from({ length: turns }) } },
    embeddings: { embedder: NO_EMBEDDER, messages: true },
  }
  const indexer = startSearchIndexer({ context: context as never })
  return {
    indexer,
    faults,
    calls: () => calls,
    looks: () => looks,
    isTicking: () => isTicking,
    setTurns(count: number) {
      turns = count
    },
    async ticks(count: number) {
      for (let index = 0; index < count; index++) {
        tick()
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

test('indexing starts after a delay, then repeats at intervals, which are longer while turns run', async () => {
  const { indexer, ticks, calls, looks, isTicking, setTurns } = searchIndexerFixture(async () => 'done')
  await ticks(1)
  assert.equal(calls() + looks(), 0)
  await ticks(50)
  assert.equal(looks(), 100, 'each tick looks for passages and for messages without vectors')
  const idle = calls()
  assert.ok(idle >= 9 && idle <= 11, String(idle))
  setTurns(1)
  await ticks(60)
  assert.ok(calls() - idle <= 3, String(calls() - idle))
  await indexer.stop()
  assert.equal(isTicking(), false)
  const stopped = calls()
  await ticks(50)
  assert.equal(calls(), stopped)
})

test('a store that is unavailable is reported once and retried', async () => {
  let isAway = true
  const { indexer, ticks, calls, faults } = searchIndexerFixture(async () => {
    if (isAway) throw new Error('away')
    return 'done'
  })
  await ticks(40)
  assert.ok(calls() > 3)
  assert.equal(faults.length, 1)
  isAway = false
  await ticks(10)
  isAway = true
  await ticks(10)
  assert.equal(faults.length, 2, 'a failure after a success is reported again')
  await indexer.stop()
})
