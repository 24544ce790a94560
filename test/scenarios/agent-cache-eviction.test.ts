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
async function openCacheFixture(context: TestContext, options: HomeFixtureOptions = {}) {
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
  const fixture = await openHomeFixture(context, { script: SCRIPT, tools, wrapStore, clock, ...options })
  const state = () => fixture.context.deps.historyCache!.state()
  /** Whether the turn had to read the history. */
  async function isCold(more: Parameters<typeof fixture.ask>[1] = {}): Promise<boolean> {
    const before = reads
    assert.equal((await fixture.ask('again', more)).stopReason, 'end_turn')
    return reads > before
  }
  async function conversations(count: number): Promise<ConversationId[]> {
    const made: ConversationId[] = []
    for (let index = 0; index < count; index++) made.push((await createConversation(fixture.agent, fixture.context)).id)
    return made
  }
  return { fixture, state, isCold, conversations, time }
}

test('another model, provider or toolset is a cache miss, once', async (context) => {
  const other = newScriptedProvider({ clock: { sleep: async () => {} }, scriptFor: () => SCRIPT })
  const { fixture, isCold, state } = await openCacheFixture(context, { providers: () => ({ other }) })
  await fixture.ask('one')
  assert.equal(await isCold(), false)
  let { agent } = fixture
  const changes = [
    { model: 'test/larger' },
    { model: 'other/model' },
    { tools: ['look'] },
    { tools: ['look', 'listen'] },
  ]
  for (const change of changes) {
    agent = await updateAgent({ agent, ...change }, fixture.context)
    assert.equal(await isCold({ agent }), true, JSON.stringify(change))
    assert.equal(await isCold({ agent }), false, JSON.stringify(change))
  }
  assert.equal(state().misses.stale, changes.length)
})

test('the reasoning effort changes between turns of a cached conversation, and the next request has the new one', async (context) => {
  const { fixture, isCold, state } = await openCacheFixture(context)
  await fixture.ask('one')
  let { agent } = fixture
  const efforts = ['low', 'high', 'none'] as const
  for (const reasoning_effort of efforts) {
    const before = state()
    const wire = { model_settings: { reasoning: { reasoning_effort }, temperature: 0.5 } }
    agent = await updateAgent({ agent, settings: (settings) => ({ ...settings, wire }) }, fixture.context)
    assert.equal(await isCold({ agent }), false, reasoning_effort)
    assert.equal(fixture.requests.at(-1)!.effort, reasoning_effort)
    assert.equal(state().hits, before.hits + 1, 'the turn found its conversation in the cache')
    assert.equal(state().entries, before.entries, 'nothing was evicted')
  }
  assert.equal(state().misses.stale, 0)
})

test('settings for one turn and subscribers do not invalidate the cache entry', async (context) => {
  const { fixture, isCold } = await openCacheFixture(context)
  await fixture.ask('one')
  const { system } = fixture.requests[0]!
  for (const options of [{ streamTokens: false }, { maxSteps: 5 }, { metadata: { a: 1 } }, { addendum: 'Be brief.' }]) {
    assert.equal(await isCold(options), false, JSON.stringify(options))
    assert.ok(fixture.requests.at(-1)!.system.startsWith(system))
  }
  const watched = await fixture.send('watched')
  const [seen, seenToo] = await Promise.all([fixture.chunks(watched), fixture.chunks(watched)])
  assert.deepEqual(seenToo, seen)
  assert.equal(await isCold(), false)
  assert.equal(fixture.requests.at(-1)!.system, system)
})

test('a key replaced by one with the same prefix is used with the next request', async (context) => {
  const environment: Record<string, string> = { OPENAI_API_KEY: 'eyJhbGci.token-for-account-a' }
  const { fixture, simulator } = await openRecoveryFixture(context, { environment })
  const first = await exchange({ fixture, simulator }, 'one')
  environment.OPENAI_API_KEY = 'eyJhbGci.token-for-account-b'
  const second = await exchange({ fixture, simulator }, 'two')
  const keysIn = ({ sent }: typeof first) => sent.map(({ key }) => key)
  assert.deepEqual(keysIn(first), ['eyJhbGci.token-for-account-a'])
  assert.deepEqual(keysIn(second), ['eyJhbGci.token-for-account-b'])
  // The cache holds messages and no key, so its entry is valid with the new key.
  assert.equal(fixture.context.deps.historyCache!.state().hits, 1)
})

test('a reset conversation does not evict others', async (context) => {
  const { fixture, isCold, conversations } = await openCacheFixture(context)
  const [one, other] = (await conversations(2)) as [ConversationId, ConversationId]
  for (const conversationId of [one, other]) await fixture.ask('first', { conversationId })
  await fixture.wait(await changeContext({ agent: fixture.agent, conversationId: one, task: 'reset' }, fixture.context))
  assert.equal(await isCold({ conversationId: other }), false)
  assert.equal(await isCold({ conversationId: one }), true)
})

test('one conversation above the limit evicts the least recently used, which later gets the same answers', async (context) => {
  const { fixture, state, isCold, conversations } = await openCacheFixture(context, { cacheEntries: 8 })
  const all = await conversations(9)
  for (const conversationId of all) await fixture.ask(`I am ${conversationId}`, { conversationId })
  assert.deepEqual([state().entries, state().evictions.entries], [8, 1])
  assert.equal(await isCold({ conversationId: all.at(-1)! }), false)
  assert.equal(await isCold({ conversationId: all[0]! }), true)
  const texts = fixture.requests
    .at(-1)!
    .messages.flatMap((body) => (body.role === 'user' ? [textOf(body.content)] : []))
  assert.deepEqual(texts, [`I am ${all[0]}`, 'again'])
  assert.equal(await isCold({ conversationId: all[0]! }), false)
})

test('conversations in a turn are not evicted, neither by the limit nor by idle time', async (context) => {
  const mayFinish = gate()
  let waiting = 0
  const wait = tool('look', async () => {
    if (isHolding) {
      waiting++
      await mayFinish.promise
    }
    return success('a tree')
  })
  let isHolding = false
  const { fixture, state, conversations, time } = await openCacheFixture(context, { cacheEntries: 4, tools: [wait] })
  const all = await conversations(5)
  const busy = all.slice(0, 4)
  for (const conversationId of busy) await fixture.ask('first', { conversationId })
  isHolding = true
  const runs = await Promise.all(busy.map((conversationId) => fixture.send('second', { conversationId })))
  while (waiting < 4) await new Promise((resolve) => setImmediate(resolve))
  isHolding = false
  await fixture.ask('mine', { conversationId: all[4]! })
  assert.deepEqual([state().entries, state().active.toSorted()], [5, busy.toSorted()])
  time.ahead = 2 * 3_600_000
  assert.equal(fixture.context.deps.historyCache!.sweep(), 1)
  // Only for the sweep: the engine would treat hours without a heartbeat as a dead worker.
  time.ahead = 0
  mayFinish.open()
  for (const runId of runs) assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  assert.deepEqual([state().entries, state().active], [4, []])
})

test('many concurrent turns end with exactly the limit of entries, and each has its own answer', async (context) => {
  const { fixture, state, conversations } = await openCacheFixture(context, { cacheEntries: 8, maxRunning: 16 })
  const all = await conversations(40)
  const runs = await Promise.all(all.map((conversationId) => fixture.ask(`I am ${conversationId}`, { conversationId })))
  assert.deepEqual(
    runs.map(({ stopReason }) => stopReason),
    all.map(() => 'end_turn'),
  )
  assert.deepEqual([state().entries, state().evictions.entries, state().active], [8, 32, []])
  for (const { messages } of fixture.requests)
    assert.equal(
      messages.filter(({ role }) => role === 'user').length,
      1,
      'no request has messages of another conversation',
    )
})

test('a conversation idle for an hour is evicted and gets the same answers afterwards', async (context) => {
  const { fixture, state, isCold, time } = await openCacheFixture(context)
  await fixture.ask('one')
  const earlier = fixture.requests.at(-1)!
  time.ahead = 3_600_001
  assert.equal(fixture.context.deps.historyCache!.sweep(), 1)
  time.ahead = 0
  assert.deepEqual([state().entries, state().evictions.idle], [0, 1])
  assert.equal(await isCold(), true)
  const later = fixture.requests.at(-1)!
  assert.deepEqual([later.system, later.tools], [earlier.system, earlier.tools])
  assert.deepEqual(later.messages.slice(0, earlier.messages.length), earlier.messages)
})
