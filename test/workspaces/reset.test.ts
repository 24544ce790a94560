import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'

test('a reset ends processes before anything is forgotten, and again if the server dies in between', async (t) => {
  const asked: ConversationId[] = []
  let begun = () => {}
  const first = new Promise<void>((resolve) => {
    begun = resolve
  })
  const endProcesses = (id: ConversationId): Promise<void> => {
    asked.push(id)
    begun()
    // The first one never comes to its end: its process dies under it.
    return asked.length === 1 ? new Promise(() => {}) : Promise.resolve()
  }
  const house = await openHomeFixture(t, { script: [{ text: 'Hello.' }], deps: { endProcesses } })
  await house.ask('hi')
  const runId = await changeContext(
    { agent: house.agent, conversationId: house.conversationId, task: 'reset' },
    house.context,
  )
  await first
  assert.equal((await house.messages()).length, 2, 'nothing is forgotten yet')
  await house.restart()
  assert.equal((await house.wait(runId)).status, 'completed')
  assert.deepEqual(asked, [house.conversationId, house.conversationId])
  assert.deepEqual(await house.messages(), [])
})
