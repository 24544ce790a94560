import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../ports/embeddings.ts'
import { startSearchIndexer } from './search-indexer.ts'

const NO_EMBEDDER: Embedder = {
  serves: () => false,
  dimensionsOf: () => undefined,
  embed: async () => ({ type: 'vectors', vectors: [] }),
}

/** A clock whose ticks are told by the test, and a store that counts how often it is asked to index. */
function searchIndexerFixture(catchUp: () => Promise<'done' | 'more'>) {
  const faults: unknown[] = []
  let tick = () => {}
  let calls = 0
  let turns = 0
  let isTicking = true
  let looks = 0
  const clock = {
    now: () => 0,
    sleep: async () => undefined,
    every: (_: number, task: () => void) => {
      tick = task
      return () => {
        tick = () => {}
        isTicking = false
      }
    },
  }
  const emptyShelf = {
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
      vectors: emptyShelf,
    },
    passages: { vectors: emptyShelf },
  }
  const context = {
    deps: { store, clock, report: (fault: unknown) => void faults.push(fault) },
    engine: { dispatcher: { running: () => Array.from({ length: turns }) } },
    embeddings: { embedder: NO_EMBEDDER, messages: true },
  }
  const keeping = startSearchIndexer({ context: context as never })
  return {
    keeping,
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

test('nothing is indexed in the first moments, then now and then, and while turns run hardly ever', async () => {
  const { keeping, ticks, calls, looks, isTicking, setTurns } = searchIndexerFixture(async () => 'done')
  await ticks(1)
  assert.equal(calls() + looks(), 0)
  await ticks(50)
  assert.equal(looks(), 100, 'passages and messages that wait for their vectors are looked for each time')
  const idle = calls()
  assert.ok(idle >= 9 && idle <= 11, String(idle))
  setTurns(1)
  await ticks(60)
  assert.ok(calls() - idle <= 3, String(calls() - idle))
  await keeping.stop()
  assert.equal(isTicking(), false)
  const stopped = calls()
  await ticks(50)
  assert.equal(calls(), stopped)
})

test('a store that is away is reported once and asked again', async () => {
  let isAway = true
  const { keeping, ticks, calls, faults } = searchIndexerFixture(async () => {
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
  assert.equal(faults.length, 2, 'what was well in between is news')
  await keeping.stop()
})
