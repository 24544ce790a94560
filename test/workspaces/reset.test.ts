import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'

test('a reset ends processes before it clears the conversation, and again if the server dies in between', async (t) => {
  const ended: ConversationId[] = []
  let notifyStarted = () => {}
  const first = new Promise<void>((resolve) => {
    notifyStarted = resolve
  })
  const endProcesses = (id: ConversationId): Promise<void> => {
    ended.push(id)
    notifyStarted()
    // The first reset does not finish: its process dies.
    return ended.length === 1 ? new Promise(() => {}) : Promise.resolve()
  }
  const fixture = await openHomeFixture(t, { script: [{ text: 'Hello.' }], deps: { endProcesses } })
  await fixture.ask('hi')
  const runId = await changeContext(
    { agent: fixture.agent, conversationId: fixture.conversationId, task: 'reset' },
    fixture.context,
  )
  await first
  assert.equal((await fixture.messages()).length, 2, 'nothing is forgotten yet')
  await fixture.restart()
  assert.equal((await fixture.wait(runId)).status, 'completed')
  assert.deepEqual(ended, [fixture.conversationId, fixture.conversationId])
  assert.deepEqual(await fixture.messages(), [])
})
