import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Store } from '../../src/ports/store.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { tool } from '../harness/tools.ts'

// What is kept between turns saves reading and nothing else: whatever is kept or not, a model is told the very same.

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
  const house = await openHomeFixture(context, { script: SCRIPT, tools: [look], wrapStore, ...options })
  return { house, reads: () => reads }
}

test('the second turn of a warm conversation reads nothing of its history again', async (context) => {
  const { house, reads } = await openFixtureWith(context)
  await house.ask('one')
  const before = reads()
  await house.ask('two')
  await house.ask('three')
  assert.equal(reads(), before)
  const asked = house.requests.at(-1)!.messages
  assert.deepEqual(
    asked,
    (await house.messages()).slice(0, asked.length).map(({ body }) => body),
  )
})

test('with room for none, one or all conversations every request is the same, byte for byte', async (context) => {
  const requests: string[] = []
  for (const cacheEntries of [0, 1, 128]) {
    const { house } = await openFixtureWith(context, { cacheEntries })
    for (const text of ['one', 'two', 'three']) await house.ask(text)
    requests.push(JSON.stringify(house.requests.map(({ system, messages, tools }) => ({ system, messages, tools }))))
  }
  assert.equal(requests[1], requests[0])
  assert.equal(requests[2], requests[0])
})

test('a conversation that comes back after a crash is told what a warm one would have been', async (context) => {
  const { house, reads } = await openFixtureWith(context)
  await house.ask('one')
  await house.crash()
  await house.restart()
  const before = reads()
  await house.ask('two')
  assert.equal(reads(), before + 1)
  const [first, later] = [house.requests[0]!, house.requests.at(-1)!]
  assert.equal(later.system, first.system)
  assert.deepEqual(later.tools, first.tools)
  assert.deepEqual(later.messages.slice(0, first.messages.length), first.messages)
})

test('a conversation that was begun anew is not told its past, however warm it was', async (context) => {
  const { house } = await openFixtureWith(context)
  await house.ask('one')
  const { agent, conversationId } = house
  await house.wait(await changeContext({ agent, conversationId, task: 'reset' }, house.context))
  await house.ask('two')
  const told = JSON.stringify(house.requests.at(-1)!.messages)
  assert.ok(!told.includes('"one"') && told.includes('"two"'), told)
})

test('a turn that failed leaves nothing warm behind', async (context) => {
  let isBroken = true
  const script = () => (isBroken ? scriptOf({ fail: { kind: 'auth-rejected', detail: 'no' } }) : SCRIPT)
  const { house } = await openFixtureWith(context, { script })
  assert.equal((await house.ask('one')).status, 'failed')
  isBroken = false
  assert.equal((await house.ask('two')).stopReason, 'end_turn')
  assert.equal((await house.ask('three')).stopReason, 'end_turn')
  const stored = (await house.messages()).map(({ body }) => body)
  const asked = house.requests.at(-1)!.messages
  assert.deepEqual(asked, stored.slice(0, asked.length))
})
