import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Store } from '../../src/ports/store.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { tool } from '../harness/tools.ts'

// The cache between turns only saves reads: a request is the same with a cache hit and with a miss.

const SCRIPT = scriptOf({ calls: [{ tool: 'look', input: {} }] }, { text: 'A tree.' })

async function openFixtureWith(context: TestContext, options: HomeFixtureOptions = {}) {
  let reads = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    messages: {
      ...store.messages,
      context: (id) => {
        reads++
        return store.messages.context(id)
      },
    },
  })
  const look = tool('look', () => success('a tree'))
  const fixture = await openHomeFixture(context, { script: SCRIPT, tools: [look], wrapStore, ...options })
  return { fixture, reads: () => reads }
}

test('the second turn of a cached conversation does not read its history again', async (context) => {
  const { fixture, reads } = await openFixtureWith(context)
  await fixture.ask('one')
  const before = reads()
  await fixture.ask('two')
  await fixture.ask('three')
  assert.equal(reads(), before)
  const asked = fixture.requests.at(-1)!.messages
  assert.deepEqual(
    asked,
    (await fixture.messages()).slice(0, asked.length).map(({ body }) => body),
  )
})

test('every request is the same, byte for byte, with room for no, one or all conversations in the cache', async (context) => {
  const requests: string[] = []
  for (const cacheEntries of [0, 1, 128]) {
    const { fixture } = await openFixtureWith(context, { cacheEntries })
    for (const text of ['one', 'two', 'three']) await fixture.ask(text)
    requests.push(JSON.stringify(fixture.requests.map(({ system, messages, tools }) => ({ system, messages, tools }))))
  }
  assert.equal(requests[1], requests[0])
  assert.equal(requests[2], requests[0])
})

test('after a crash a conversation sends the same request as a cached one', async (context) => {
  const { fixture, reads } = await openFixtureWith(context)
  await fixture.ask('one')
  await fixture.crash()
  await fixture.restart()
  const before = reads()
  await fixture.ask('two')
  assert.equal(reads(), before + 1)
  const [first, later] = [fixture.requests[0]!, fixture.requests.at(-1)!]
  assert.equal(later.system, first.system)
  assert.deepEqual(later.tools, first.tools)
  assert.deepEqual(later.messages.slice(0, first.messages.length), first.messages)
})

test('after a reset a cached conversation sends no earlier messages', async (context) => {
  const { fixture } = await openFixtureWith(context)
  await fixture.ask('one')
  const { agent, conversationId } = fixture
  await fixture.wait(await changeContext({ agent, conversationId, task: 'reset' }, fixture.context))
  await fixture.ask('two')
  const sent = JSON.stringify(fixture.requests.at(-1)!.messages)
  assert.ok(!sent.includes('"one"') && sent.includes('"two"'), sent)
})

test('a failed turn leaves no cache entry', async (context) => {
  let isBroken = true
  const script = () => (isBroken ? scriptOf({ fail: { kind: 'auth-rejected', detail: 'no' } }) : SCRIPT)
  const { fixture } = await openFixtureWith(context, { script })
  assert.equal((await fixture.ask('one')).status, 'failed')
  isBroken = false
  assert.equal((await fixture.ask('two')).stopReason, 'end_turn')
  assert.equal((await fixture.ask('three')).stopReason, 'end_turn')
  const stored = (await fixture.messages()).map(({ body }) => body)
  const asked = fixture.requests.at(-1)!.messages
  assert.deepEqual(asked, stored.slice(0, asked.length))
})
