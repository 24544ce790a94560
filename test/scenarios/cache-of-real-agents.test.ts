import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { ConversationId } from '../../src/core/id.ts'
import { textOf } from '../../src/core/message.ts'
import type { Store } from '../../src/ports/store.ts'
import { newScriptedProvider, scriptOf } from '../../src/providers/scripted/script.ts'
import { updateAgent } from '../../src/service/agents/agents.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { createConversation } from '../../src/service/conversations/conversations.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { exchange, openRecoveryFixture } from '../recovery/fixture-recovery.ts'

const SCRIPT = scriptOf({ calls: [{ tool: 'look', input: {} }] }, { text: 'A tree.' })

/** A fixture with many conversations that counts history reads and whose clock can be moved. */
async function cacheHouse(context: TestContext, options: HomeFixtureOptions = {}) {
  let reads = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    messages: {
      ...store.messages,
      context(id) {
        reads++
        return store.messages.context(id)
      },
    },
  })
  const time = { ahead: 0 }
  const clock = { ...realClock, monotonic: () => realClock.monotonic() + time.ahead }
  const tools = [tool('look', () => success('a tree')), tool('listen', () => success('a bird'))]
  const house = await openHomeFixture(context, { script: SCRIPT, tools, wrapStore, clock, ...options })
  const state = () => house.context.deps.historyCache!.state()
  /** Whether the turn had to read the history. */
  async function isCold(more: Parameters<typeof house.ask>[1] = {}): Promise<boolean> {
    const before = reads
    assert.equal((await house.ask('again', more)).stopReason, 'end_turn')
    return reads > before
  }
  async function conversations(count: number): Promise<ConversationId[]> {
    const made: ConversationId[] = []
    for (let index = 0; index < count; index++) made.push((await createConversation(house.agent, house.context)).id)
    return made
  }
  return { house, state, isCold, conversations, time }
}

test('another model, provider or toolset is a cache miss, once', async (context) => {
  const other = newScriptedProvider({ clock: { sleep: async () => {} }, scriptFor: () => SCRIPT })
  const { house, isCold, state } = await cacheHouse(context, { providers: () => ({ other }) })
  await house.ask('one')
  assert.equal(await isCold(), false)
  let { agent } = house
  const changes = [
    { model: 'test/larger' },
    { model: 'other/model' },
    { tools: ['look'] },
    { tools: ['look', 'listen'] },
  ]
  for (const change of changes) {
    agent = await updateAgent({ agent, ...change }, house.context)
    assert.equal(await isCold({ agent }), true, JSON.stringify(change))
    assert.equal(await isCold({ agent }), false, JSON.stringify(change))
  }
  assert.equal(state().misses.stale, changes.length)
})

test('settings for one turn and subscribers do not invalidate the cache entry', async (context) => {
  const { house, isCold } = await cacheHouse(context)
  await house.ask('one')
  const { system } = house.requests[0]!
  for (const wish of [{ streamTokens: false }, { maxSteps: 5 }, { metadata: { a: 1 } }, { addendum: 'Be brief.' }]) {
    assert.equal(await isCold(wish), false, JSON.stringify(wish))
    assert.ok(house.requests.at(-1)!.system.startsWith(system))
  }
  const watched = await house.send('watched')
  const [seen, seenToo] = await Promise.all([house.chunks(watched), house.chunks(watched)])
  assert.deepEqual(seenToo, seen)
  assert.equal(await isCold(), false)
  assert.equal(house.requests.at(-1)!.system, system)
})

test('a key replaced by one with the same prefix is used with the next request', async (context) => {
  const environment: Record<string, string> = { OPENAI_API_KEY: 'eyJhbGci.token-for-account-a' }
  const { house, simulator } = await openRecoveryFixture(context, { environment })
  const first = await exchange({ house, simulator }, 'one')
  environment.OPENAI_API_KEY = 'eyJhbGci.token-for-account-b'
  const second = await exchange({ house, simulator }, 'two')
  const keysIn = ({ sent }: typeof first) => sent.map(({ key }) => key)
  assert.deepEqual(keysIn(first), ['eyJhbGci.token-for-account-a'])
  assert.deepEqual(keysIn(second), ['eyJhbGci.token-for-account-b'])
  // The cache holds messages and no key, so its entry is valid with the new key.
  assert.equal(house.context.deps.historyCache!.state().hits, 1)
})

test('a reset conversation does not evict others', async (context) => {
  const { house, isCold, conversations } = await cacheHouse(context)
  const [one, other] = (await conversations(2)) as [ConversationId, ConversationId]
  for (const conversationId of [one, other]) await house.ask('first', { conversationId })
  await house.wait(await changeContext({ agent: house.agent, conversationId: one, task: 'reset' }, house.context))
  assert.equal(await isCold({ conversationId: other }), false)
  assert.equal(await isCold({ conversationId: one }), true)
})

test('one conversation above the limit evicts the least recently used, which later gets the same answers', async (context) => {
  const { house, state, isCold, conversations } = await cacheHouse(context, { cacheEntries: 8 })
  const all = await conversations(9)
  for (const conversationId of all) await house.ask(`I am ${conversationId}`, { conversationId })
  assert.deepEqual([state().entries, state().evictions.entries], [8, 1])
  assert.equal(await isCold({ conversationId: all.at(-1)! }), false)
  assert.equal(await isCold({ conversationId: all[0]! }), true)
  const told = house.requests.at(-1)!.messages.flatMap((body) => (body.role === 'user' ? [textOf(body.content)] : []))
  assert.deepEqual(told, [`I am ${all[0]}`, 'again'])
  assert.equal(await isCold({ conversationId: all[0]! }), false)
})

test('conversations in a turn are not evicted, neither by the limit nor by idle time', async (context) => {
  const held = gate()
  let waiting = 0
  const wait = tool('look', async () => {
    if (isHolding) {
      waiting++
      await held.promise
    }
    return success('a tree')
  })
  let isHolding = false
  const { house, state, conversations, time } = await cacheHouse(context, { cacheEntries: 4, tools: [wait] })
  const all = await conversations(5)
  const busy = all.slice(0, 4)
  for (const conversationId of busy) await house.ask('first', { conversationId })
  isHolding = true
  const runs = await Promise.all(busy.map((conversationId) => house.send('second', { conversationId })))
  while (waiting < 4) await new Promise((resolve) => setImmediate(resolve))
  isHolding = false
  await house.ask('mine', { conversationId: all[4]! })
  assert.deepEqual([state().entries, state().active.toSorted()], [5, busy.toSorted()])
  time.ahead = 2 * 3_600_000
  assert.equal(house.context.deps.historyCache!.sweep(), 1)
  // Only for the sweep: the engine would treat hours without a heartbeat as a dead worker.
  time.ahead = 0
  held.open()
  for (const runId of runs) assert.equal((await house.wait(runId)).stopReason, 'end_turn')
  assert.deepEqual([state().entries, state().active], [4, []])
})

test('many concurrent turns end with exactly the limit of entries, and each has its own answer', async (context) => {
  const { house, state, conversations } = await cacheHouse(context, { cacheEntries: 8, maxRunning: 16 })
  const all = await conversations(40)
  const runs = await Promise.all(all.map((conversationId) => house.ask(`I am ${conversationId}`, { conversationId })))
  assert.deepEqual(
    runs.map(({ stopReason }) => stopReason),
    all.map(() => 'end_turn'),
  )
  assert.deepEqual([state().entries, state().evictions.entries, state().active], [8, 32, []])
  for (const { messages } of house.requests)
    assert.equal(messages.filter(({ role }) => role === 'user').length, 1, 'nobody was told what another said')
})

test('a conversation idle for an hour is evicted and gets the same answers afterwards', async (context) => {
  const { house, state, isCold, time } = await cacheHouse(context)
  await house.ask('one')
  const told = house.requests.at(-1)!
  time.ahead = 3_600_001
  assert.equal(house.context.deps.historyCache!.sweep(), 1)
  time.ahead = 0
  assert.deepEqual([state().entries, state().evictions.idle], [0, 1])
  assert.equal(await isCold(), true)
  const later = house.requests.at(-1)!
  assert.deepEqual([later.system, later.tools], [told.system, told.tools])
  assert.deepEqual(later.messages.slice(0, told.messages.length), told.messages)
})
