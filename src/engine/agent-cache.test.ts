import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ConversationId } from '../core/id.ts'
import { type CacheKey, type CacheLimits, type EvictionReason, newAgentCache } from './agent-cache.ts'

const id = (name: string): ConversationId => `conv-${name}`
const KEY: CacheKey = { signature: 'model and tools', sequence: '1' }
const ROOMY: CacheLimits = { entries: 100, bytes: 1_000_000, idleMs: 1_000 }

function cacheOf(limits: Partial<CacheLimits>) {
  const seen = {
    evicted: [] as [string, EvictionReason][],
    released: [] as string[],
    warnings: [] as (readonly string[])[],
  }
  const time = { now: 0 }
  const cache = newAgentCache<string>({
    limits: { ...ROOMY, ...limits },
    clock: { monotonic: () => time.now },
    dispose: (conversation, value) => void seen.released.push(`${conversation}:${value}`),
    events: {
      evicted: (conversation, reason) => void seen.evicted.push([conversation, reason]),
      overfull: (active) => void seen.warnings.push(active),
    },
  })
  /** A whole turn. */
  const turn = (name: string, size = 1, key = KEY) => cache.acquire(id(name), key).release(key, `warm ${name}`, size)
  const begin = (name: string) => cache.acquire(id(name), KEY)
  return { cache, seen, time, turn, begin }
}

const kept = (names: string[]) => names.map((name) => [id(name), 'entries'])

test('a second turn with the same settings is a cache hit', () => {
  const { cache, turn, begin } = cacheOf({})
  turn('a')
  assert.equal(begin('a').value, 'warm a')
  assert.equal(cache.state().hits, 1)
})

test('an entry for other settings, or from before another write, is a miss', () => {
  const { cache, seen, turn } = cacheOf({})
  turn('a')
  assert.equal(cache.acquire(id('a'), { ...KEY, signature: 'another model' }).value, undefined)
  turn('b')
  assert.equal(cache.acquire(id('b'), { ...KEY, sequence: '2' }).value, undefined)
  assert.deepEqual(cache.state().misses, { absent: 2, stale: 2 })
  assert.equal(cache.state().evictions.stale, 2)
  assert.deepEqual(seen.released, ['conv-a:warm a', 'conv-b:warm b'])
})

test('the least recently used entry is evicted when there are too many', () => {
  const { seen, turn } = cacheOf({ entries: 2 })
  for (const name of ['a', 'b', 'c']) turn(name)
  assert.deepEqual(seen.evicted, kept(['a']))
  assert.deepEqual(seen.released, ['conv-a:warm a'])
})

test('a turn makes its conversation the most recently used', () => {
  const { seen, turn } = cacheOf({ entries: 2 })
  for (const name of ['a', 'b', 'a', 'c']) turn(name)
  assert.deepEqual(seen.evicted, kept(['b']))
})

test('an entry in a turn is never evicted, and no newer entry is evicted in its place', () => {
  const { cache, seen, turn, begin } = cacheOf({ entries: 2 })
  for (const name of ['active', 'b']) turn(name)
  const held = begin('active')
  // It is the most recent now; during a long turn it becomes the oldest as others are used.
  for (const name of ['b', 'c']) turn(name)
  assert.deepEqual(seen.evicted, [])
  assert.equal(cache.state().entries, 3)
  held.release(KEY, 'warm active', 1)
  assert.deepEqual(seen.evicted, kept(['b']))
})

test('of several entries above the limit only the idle ones are evicted', () => {
  const { cache, seen, turn, begin } = cacheOf({ entries: 4 })
  for (const name of ['a', 'b', 'c', 'd']) turn(name)
  begin('a')
  for (const name of ['b', 'c', 'd', 'e', 'f']) turn(name)
  assert.deepEqual(seen.evicted, kept(['b']))
  assert.equal(cache.state().entries, 5)
})

test('if all entries above the limit are in a turn they stay, and one warning names them', () => {
  const { cache, seen, turn, begin } = cacheOf({ entries: 2 })
  for (const name of ['a', 'b']) turn(name)
  for (const name of ['a', 'b']) begin(name)
  turn('c')
  turn('d')
  assert.deepEqual(seen.warnings, [[id('a'), id('b')]])
  assert.deepEqual(cache.state().active, [id('a'), id('b')])
})

test('a conversation after a miss protects no entry and blocks no eviction', () => {
  const { cache, seen, turn, begin } = cacheOf({ entries: 1 })
  turn('a')
  begin('being built')
  turn('b')
  assert.deepEqual(seen.evicted, kept(['a']))
  assert.equal(cache.state().entries, 1)
})

test('the limit of bytes follows the same rule as that of entries', () => {
  const { cache, seen, turn, begin } = cacheOf({ bytes: 100 })
  for (const name of ['a', 'b']) turn(name, 50)
  begin('a')
  turn('b', 50)
  turn('c', 60)
  assert.deepEqual(seen.evicted, [[id('b'), 'bytes']])
  assert.equal(cache.state().bytes, 110)
})

test('idle entries are evicted; those in a turn are not', () => {
  const { cache, seen, time, turn, begin } = cacheOf({ idleMs: 1_000 })
  for (const name of ['a', 'b']) turn(name)
  begin('b')
  time.now = 1_001
  turn('c')
  assert.equal(cache.sweep(), 1)
  assert.deepEqual(seen.evicted, [[id('a'), 'idle']])
})

test('a deleted conversation is evicted at once, and the value its running turn returns is ignored', () => {
  const { cache, seen, turn, begin } = cacheOf({})
  turn('a')
  turn('b')
  const held = begin('a')
  const built = begin('new')
  cache.forget(id('a'))
  cache.forget(id('new'))
  held.release(KEY, 'the past', 1)
  built.release(KEY, 'the past', 1)
  assert.deepEqual(cache.state().entries, 1)
  assert.deepEqual(seen.evicted, [[id('a'), 'conversation-over']])
  assert.deepEqual(seen.released, ['conv-a:warm a', 'conv-a:the past', 'conv-new:the past'])
})

test('a turn that drops its value leaves no entry', () => {
  const { cache, turn, begin } = cacheOf({})
  turn('a')
  begin('a').drop()
  assert.equal(cache.state().entries, 0)
})

test('many concurrent turns end at exactly the limit, and no byte is counted twice', () => {
  const names = Array.from({ length: 40 }, (_, index) => `${index}`)
  const step = fc.record({ name: fc.constantFrom(...names), size: fc.integer({ min: 1, max: 50 }), ends: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { cache, begin } = cacheOf({ entries: 16 })
      const open = new Map<string, ReturnType<typeof begin>>()
      const sizes = new Map<string, number>()
      for (const { name, size, ends } of steps) {
        const held = open.get(name) ?? begin(name)
        open.set(name, held)
        if (!ends) continue
        open.delete(name)
        held.release(KEY, `warm ${name}`, size)
        sizes.set(name, size)
      }
      for (const [name, held] of open) {
        held.release(KEY, `warm ${name}`, 7)
        sizes.set(name, 7)
      }
      const { entries, bytes, active } = cache.state()
      assert.deepEqual(active, [])
      assert.ok(entries <= 16, `${entries} entries`)
      if (sizes.size >= 16) assert.equal(entries, 16)
      const warm = names.filter((name) => begin(name).value !== undefined)
      assert.equal(
        bytes,
        warm.reduce((sum, name) => sum + sizes.get(name)!, 0),
      )
    }),
  )
})
