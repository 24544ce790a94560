import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../../src/ports/store.ts'
import { serveFixture } from '../fixture-resource-server.ts'
import { history, MODES, sendIn, type WireValue, waitUntilSettled } from '../send-modes.ts'

/** A store with a bug that every turn runs into. */
const buggy = (store: Store): Store => ({
  ...store,
  messages: { ...store.messages, context: () => Promise.reject(new Error('a bug of ours')) },
})

test('an internal bug ends a run with internal_error in every mode, and its metadata has the error', async (context) => {
  const { client, fixture } = await serveFixture(context, { wrapStore: buggy })
  for (const mode of MODES) {
    const { id: agentId } = await client.agents.create({ model: 'test/model', include_base_tools: false })
    const fault = await sendIn(mode, client, { agentId, body: { input: 'hi' } }).catch((error) => error)
    if (mode === 'blocking') assert.equal(fault.status, 500)
    else if (mode !== 'async') assert.equal(fault.error.error_type, 'internal_error', mode)
    const [run] = (await client.runs.list({ agent_id: agentId })).getPaginatedItems()
    const ended = await waitUntilSettled(client, run!.id)
    assert.deepEqual([ended.status, ended.stop_reason], ['failed', 'error'], mode)
    assert.equal((ended.metadata as WireValue).error.error_type, 'internal_error', mode)
    assert.deepEqual(await history(client, agentId), [])
    assert.equal((await client.agents.retrieve(agentId)).last_stop_reason, 'error')
  }
  assert.ok(fixture.faults.length >= MODES.length, 'the error is reported to the operator')
})
