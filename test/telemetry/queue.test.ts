import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { sha256 } from '../../src/config/sha256.ts'
import type { RunId } from '../../src/core/id.ts'
import type { CommitListener } from '../../src/ports/commit-listeners.ts'
import type { Store } from '../../src/ports/store.ts'
import { newCollector } from '../../src/telemetry/collector.ts'
import { startTelemetry } from '../../src/telemetry/start-telemetry.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

const ENDED = { type: 'turn-ended', v: 1, stopReason: 'end_turn' } as const

test('more runs than the queue holds are dropped and counted, and nothing is read while a turn commits', async () => {
  const listeners: CommitListener[] = []
  const reads: string[] = []
  const faults: unknown[] = []
  const clock = newVirtualClock()
  const telemetry = startTelemetry({
    endpoint: 'http://127.0.0.1:9',
    headers: {},
    serviceName: 'test',
    hasContent: false,
    metricsEveryMs: 0,
    fetch: () => Promise.reject(new Error('no request is expected')),
    store: { runs: { getAnywhere: async (id: string) => void reads.push(id) } } as never as Store,
    commits: {
      listen: (one) => listeners.push(one) as never,
      takeovers: () => ({ 'worker-lost': 0, 'handed-back': 0 }),
    },
    clock,
    randomness: realRandomness,
    digest: sha256,
    report: (fault) => void faults.push(fault),
  })
  for (let number = 0; number < 5_000; number++) listeners[0]!.event!(ENDED, `run-${number}` as RunId)
  assert.deepEqual(reads, [])
  const { waitingRuns, dropped } = telemetry.state()
  assert.equal(waitingRuns, 2_048)
  assert.deepEqual(dropped, [{ what: 'runs', why: 'queue-full', count: 5_000 - 2_048 }])
  assert.equal(faults.length, 1)
})

test('a collector is asked again after 429, 502, 503, 504 and a failed connection, and never after another status', async () => {
  for (const [first, times] of [
    [429, 2],
    [502, 2],
    [503, 2],
    [504, 2],
    ['away', 2],
    [500, 1],
    [401, 1],
    [400, 1],
  ] as const) {
    const clock = newVirtualClock()
    const bodies: unknown[] = []
    const collector = newCollector({
      endpoint: 'http://collector.test/',
      headers: {},
      clock,
      randomness: realRandomness,
      async fetch(url, init) {
        assert.equal(String(url), 'http://collector.test/v1/traces')
        bodies.push(init?.body)
        if (bodies.length > 1) return new Response('{}')
        if (first === 'away') throw new Error('connection refused')
        return new Response('', { status: first })
      },
    })
    const options = { tries: 5, signal: new AbortController().signal }
    const sent = await clock.advanceUntil(collector.send('/v1/traces', { resourceSpans: [] }, options), 120_000)
    assert.equal(bodies.length, times, String(first))
    assert.equal(new Set(bodies).size, 1)
    assert.equal(sent.type, times === 2 ? 'taken' : 'refused')
  }
})

test('a collector that never answers is given up after ten seconds for each of five tries', async () => {
  const clock = newVirtualClock()
  let asked = 0
  const collector = newCollector({
    endpoint: 'http://collector.test',
    headers: {},
    clock,
    randomness: realRandomness,
    fetch: (_, init) => {
      asked += 1
      return new Promise((_resolve, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      )
    },
  })
  const options = { tries: 5, signal: new AbortController().signal }
  const sent = await clock.advanceUntil(collector.send('/v1/traces', {}, options), 300_000)
  assert.equal(asked, 5)
  assert.equal(sent.type, 'unavailable')
})
