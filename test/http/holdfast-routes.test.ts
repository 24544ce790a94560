import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { gate, tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

test('pending approvals of all agents are listed, and an approval with a digest holds for exactly the listed arguments', async (t) => {
  const sent: unknown[] = []
  const note = (input: unknown) => {
    sent.push(input)
    return success('sent')
  }
  const send = tool('send', note, { needsApproval: true })
  const script = scriptOf({ calls: [{ tool: 'send', input: { to: 'Ada' }, callId: 'call-1' }] }, { text: 'Sent.' })
  const { fixture, fetch } = await serveFixture(t, { script, tools: [send] })
  assert.deepEqual((await fetch('GET', '/v1/approvals')).body, [])
  const { id: runId } = await fixture.ask('go')
  const [waiting]: WireValue[] = (await fetch('GET', '/v1/approvals')).body
  assert.deepEqual([waiting.run_id, waiting.agent_id], [runId, fixture.agent.id])
  assert.equal(waiting.may_approve, 'any-key')
  const [call] = waiting.tool_calls
  assert.deepEqual([call.tool_call_id, call.name, call.arguments], ['call-1', 'send', '{"to":"Ada"}'])

  const answer = (words: object[]) => fetch('POST', `/v1/approvals/${runId}`, { approvals: words })
  const approve = { tool_call_id: 'call-1', verdict: 'approve' }
  assert.equal((await answer([{ ...approve, digest: 'of-something-else' }])).status, 422)
  assert.equal((await answer([])).status, 422)
  assert.equal((await answer([{ ...approve, tool_call_id: 'call-2' }])).status, 422)
  assert.deepEqual(sent, [])
  const { body } = await answer([{ ...approve, digest: call.digest }])
  const { run_id: next } = body as { run_id: `run-${string}` }
  assert.equal((await fixture.wait(next)).status, 'completed')
  assert.deepEqual(sent, [{ to: 'Ada' }])
  assert.deepEqual((await answer([approve])).body, { run_id: next }, 'said again it finds the same run')
  assert.equal((await fetch('POST', `/v1/approvals/run-${crypto.randomUUID()}`, { approvals: [] })).status, 404)
})

test('a text that is sent during a turn is queued, accepted once per otid, and its run can be read chunk by chunk', async (t) => {
  const mayGoOn = gate()
  const hold = tool('hold', () => mayGoOn.promise.then(() => success('held')))
  const script = scriptOf({ calls: [{ tool: 'hold', input: {} }] }, { text: 'One.' }, { text: 'Two.' })
  const { fixture, fetch, client } = await serveFixture(t, { script, tools: [hold] })
  const say = async (text: string, otid: string): Promise<WireValue> =>
    (await fetch('POST', `/v1/holdfast/conversations/${fixture.conversationId}/messages`, { text, otid })).body
  const first = await say('go', 'otid-1')
  const second = await say('and then', 'otid-2')
  const { run_id } = second
  assert.deepEqual(await say('and then', 'otid-2'), { type: 'repeated', run_id, request: run_id, queued: false })
  assert.equal((await fixture.get(second.run_id)).status, 'created')
  mayGoOn.open()
  await fixture.wait(first.run_id)
  await fixture.wait(second.run_id)

  const chunks = async (after: number) => {
    const path = `${client.baseURL}/v1/runs/${second.run_id}/chunks?starting_after=${after}`
    const text = await (await globalThis.fetch(path, { headers: { authorization: `Bearer ${KEY}` } })).text()
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!)
    assert.equal(events.pop(), '[DONE]')
    return events.map((data): WireValue => JSON.parse(data))
  }
  const whole = await chunks(0)
  assert.equal(whole.at(-1).chunk.message_type, 'done')
  assert.deepEqual(
    whole.map(({ chunk }) => chunk),
    await fixture.chunks(second.run_id),
  )
  assert.deepEqual(await chunks(2), whole.slice(2))
  assert.deepEqual(await chunks(1_000), [])
})
