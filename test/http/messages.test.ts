import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIError } from '@letta-ai/letta-client'
import { history, MODES, sendIn, settled, typesIn } from './send-modes.ts'
import { serveFor } from './served.ts'

const hello = (otid?: string) => ({ messages: [{ role: 'user', content: 'Hello', ...(otid ? { otid } : {}) }] })
const DICE = { calls: [{ id: 'call-1', name: 'roll_dice', arguments: {} }] }

for (const mode of MODES) {
  test(`${mode}: a greeting is answered, told with its end and its tokens, and kept under the client's otid`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    simulator.script({ answer: { reasoning: { text: 'They greet me.' }, text: 'Hello to you.' } })
    const otid = crypto.randomUUID()
    const reply = await sendIn(mode, client, { agentId, body: hello(otid) })

    assert.deepEqual(typesIn(reply.messages), ['reasoning_message', 'assistant_message'])
    assert.equal(reply.messages[1].content, 'Hello to you.')
    assert.equal(reply.stopReason, 'end_turn')
    assert.deepEqual(
      reply.messages.map((one) => one.otid.at(-1)),
      ['0', '1'],
    )
    if (reply.usage) {
      assert.ok(reply.usage.prompt_tokens > 0 && reply.usage.completion_tokens > 0)
      assert.equal(reply.usage.step_count, 1)
    }
    const run = await client.runs.retrieve(reply.runId)
    assert.equal(run.status, 'completed')
    assert.equal(run.background, mode === 'background' || mode === 'async')

    const kept = await history(client, agentId)
    assert.deepEqual(typesIn(kept), ['user_message', 'reasoning_message', 'assistant_message'])
    assert.equal(kept[0].otid, otid)
    const names = (messages: typeof kept) =>
      messages.map(({ id, otid: slice, step_id, run_id }) => [id, slice, step_id, run_id])
    assert.deepEqual(names(kept.slice(1)), names(reply.messages))
    assert.deepEqual(await history(client, agentId, { after: kept.at(-1).id }), [])
  })

  test(`${mode}: a tool call, its result and the answer come in this order, in the reply as in the history`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    const calls = ['a', 'b', 'c'].map((name) => ({ id: `call-${name}`, name: 'roll_dice', arguments: {} }))
    simulator.script({ when: { attempt: 1 }, answer: { calls } }, { answer: { text: 'Rolled.' } })
    const reply = await sendIn(mode, client, { agentId, body: hello() })

    const types = ['tool_call_message', 'tool_return_message', 'assistant_message']
    assert.deepEqual(typesIn(reply.messages), types)
    const [called, returned, answered] = reply.messages
    assert.deepEqual(
      called.tool_calls.map((call: { tool_call_id: string }) => call.tool_call_id),
      ['call-a', 'call-b', 'call-c'],
    )
    assert.equal(called.tool_call.tool_call_id, 'call-a')
    assert.equal(returned.tool_returns.length, 3)
    for (const [index, one] of returned.tool_returns.entries()) {
      assert.equal(one.type, 'tool')
      assert.equal(one.status, 'success')
      assert.equal(one.tool_call_id, calls[index]!.id)
    }
    assert.deepEqual(
      reply.messages.map(({ otid }) => otid.at(-1)),
      ['0', '0', '0'],
    )
    assert.notEqual(called.step_id, answered.step_id)
    assert.equal(returned.step_id, called.step_id)
    const kept = await history(client, agentId)
    const same = ({ message_type, id, otid, step_id, name, tool_returns }: typeof called) => ({
      message_type,
      id,
      otid,
      step_id,
      name,
      tool_returns,
    })
    assert.deepEqual(kept.slice(1).map(same), reply.messages.map(same))
  })

  test(`${mode}: a model that fails for good is an error to the client, and leaves nothing in the history`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    simulator.script({ answer: { error: 'invalid-request' } })
    const otid = crypto.randomUUID()
    if (mode === 'async')
      assert.equal((await sendIn(mode, client, { agentId, body: hello(otid) })).stopReason, 'llm_api_error')
    else await assert.rejects(sendIn(mode, client, { agentId, body: hello(otid) }), APIError)
    assert.deepEqual(await history(client, agentId), [])
    const [run] = (await client.runs.list({ agent_id: agentId })).getPaginatedItems()
    assert.equal(run?.status, 'failed')
    assert.equal((run?.metadata?.error as { error_type: string } | undefined)?.error_type, 'llm_error')
    assert.equal(simulator.requests.length, 1, 'and the client does not repeat it')

    // The same words under the same name, by a person who tries again.
    simulator.script({ answer: { text: 'Now it works.' } })
    assert.equal((await sendIn(mode, client, { agentId, body: hello(otid) })).stopReason, 'end_turn')
  })
}

test('a run tells its steps, its tokens and its messages', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  simulator.script(
    { when: { attempt: 1 }, answer: { ...DICE, usage: { input: 100, output: 7, cached: 30 } } },
    { answer: { text: 'Done.' } },
  )
  const { runId, messages } = await sendIn('blocking', client, { agentId, body: hello() })
  const steps = (await client.runs.steps.list(runId)).getPaginatedItems()
  assert.equal(steps.length, 2)
  assert.equal((await client.runs.steps.list(runId, { order: 'asc' })).getPaginatedItems()[0]?.cached_input_tokens, 30)
  for (const step of steps)
    assert.ok('cache_write_tokens' in step && 'reasoning_tokens' in step && step.total_tokens! > 0)
  const usage = await client.runs.usage.retrieve(runId)
  assert.ok(usage.total_tokens! > 107)
  assert.equal(usage.prompt_tokens_details?.cached_tokens, 30)
  const listed = (await client.runs.messages.list(runId)).getPaginatedItems()
  assert.deepEqual(typesIn(listed), ['user_message', ...typesIn(messages)])
  const step = await client.steps.retrieve(steps[0]!.id)
  assert.equal(step.run_id, runId)
  const ofStep = (await client.steps.messages.list(messages[0].step_id)).getPaginatedItems()
  assert.deepEqual(typesIn(ofStep as []), ['tool_call_message', 'tool_return_message'])
  const walked = []
  for await (const one of client.steps.list({ agent_id: agentId, limit: 1 })) walked.push(one.id)
  assert.deepEqual(
    walked,
    steps.map(({ id }) => id),
  )
  await assert.rejects(client.steps.list({ after: `step-${crypto.randomUUID()}` }), { status: 404 })
})

test('lists of runs can be filtered, ordered and paged through to the end', async (t) => {
  const { client, agentId } = await serveFor(t)
  const sent: string[] = []
  for (let index = 0; index < 5; index++) {
    const mode = index === 3 ? 'background' : 'blocking'
    sent.push((await sendIn(mode, client, { agentId, body: hello() })).runId)
  }
  const all = async (query: object) => {
    const ids: string[] = []
    for await (const run of client.runs.list(query)) ids.push(run.id)
    return ids
  }
  assert.deepEqual(await all({ limit: 2 }), sent.toReversed())
  assert.deepEqual(await all({ limit: 2, order: 'asc' }), sent)
  assert.deepEqual(await all({ agent_ids: [agentId], background: true }), [sent[3]])
  const newer = (await client.runs.list({ before: sent[1]!, limit: 2 })).getPaginatedItems()
  assert.deepEqual(
    newer.map(({ id }) => id),
    [sent[3], sent[2]],
  )
  assert.deepEqual(await all({ statuses: ['failed', 'cancelled'] }), [])
  assert.deepEqual(await all({ active: true }), [])
  await assert.rejects(all({ after: `run-${crypto.randomUUID()}` }), { status: 404 })
})

test('history is chronological whichever end is asked for, and pages neither repeat nor leave out', async (t) => {
  const { client, agentId } = await serveFor(t)
  for (const text of ['one', 'two', 'three']) await client.agents.messages.create(agentId, { input: text })
  const whole = await history(client, agentId, { order: 'asc' })
  assert.equal(whole.length, 6)
  assert.deepEqual(await history(client, agentId), whole)
  assert.deepEqual(await history(client, agentId, { limit: 2 }), whole.slice(4))
  assert.deepEqual(await history(client, agentId, { limit: 2, before: whole[4].id }), whole.slice(2, 4))
  const walked = []
  for await (const message of client.agents.messages.list(agentId, { limit: 2, order: 'asc' })) walked.push(message)
  assert.deepEqual(walked, whole)
  assert.deepEqual(await client.messages.retrieve(whole[1].id), [whole[1]])
  await assert.rejects(history(client, agentId, { after: `message-${crypto.randomUUID()}` }), { status: 404 })
})

test('a filter of types holds for replies, streams and history, and never for what ends a stream', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  for (const mode of MODES) {
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Done.' } })
    const body = { ...hello(), include_return_message_types: ['tool_return_message'] }
    const reply = await sendIn(mode, client, { agentId, body })
    assert.deepEqual(typesIn(reply.messages), ['tool_return_message'], mode)
    assert.equal(reply.stopReason, 'end_turn')
  }
  const only = await history(client, agentId, { include_return_message_types: ['user_message'] })
  assert.deepEqual(new Set(typesIn(only)), new Set(['user_message']))
})

test('another model serves one request, and an unknown one is refused before anything happens', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  await client.agents.messages.create(agentId, { input: 'hi', override_model: 'openai/other-model' })
  await client.agents.messages.create(agentId, { input: 'hi' })
  assert.deepEqual(
    simulator.requests.map(({ model }) => model),
    ['other-model', 'simulated-model'],
  )
  await assert.rejects(client.agents.messages.create(agentId, { input: 'hi', override_model: 'nobody/x' }), {
    status: 404,
  })
  await assert.rejects(client.agents.messages.create(agentId, { input: 'hi', override_model: 'x' }), { status: 400 })
  assert.equal((await client.runs.list()).getPaginatedItems().length, 2)
})

test('a system message and an image are taken, and shown to the model', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await client.agents.messages.create(agentId, {
    messages: [
      { role: 'system', content: 'Speak plainly.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
    ],
  })
  const asked = JSON.stringify(simulator.requests[0]?.body)
  assert.ok(asked.includes('Speak plainly.') && asked.includes(pixel))
  const kept = await history(client, agentId)
  assert.deepEqual(typesIn(kept).slice(0, 2), ['system_message', 'user_message'])
  assert.equal(kept[1].content[1].source.data, pixel)
})

test('a cancelled run ends once, as cancelled, in every mode, and the agent goes on', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  for (const mode of MODES) {
    simulator.script({ answer: { text: 'word '.repeat(400), pace: { everyMs: 20, charactersPerChunk: 5 } } })
    const asked = simulator.requests.length
    const sending = sendIn(mode, client, { agentId, body: hello() })
    await simulator.waitForRequests(asked + 1)
    const cancelled = await client.agents.messages.cancel(agentId, {})
    assert.deepEqual(Object.values(cancelled), ['cancelled'], mode)
    const reply = await sending
    assert.equal(reply.stopReason, 'cancelled', mode)
    const run = await settled(client, reply.runId)
    assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled'])
    assert.equal(reply.usage !== undefined && mode !== 'blocking', false, 'no usage after a cancel')
    simulator.script()
    assert.equal((await sendIn(mode, client, { agentId, body: hello() })).stopReason, 'end_turn', mode)
  }
  await assert.rejects(client.agents.messages.cancel(agentId, {}), { status: 409 })
})

test('conversations are summarized and forgotten on demand', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  await assert.rejects(client.agents.messages.compact(agentId), { status: 400 })
  for (const text of ['one', 'two', 'three']) await client.agents.messages.create(agentId, { input: text })
  simulator.script({ answer: { text: 'They counted to three.' } })
  const made = await client.agents.messages.compact(agentId, { compaction_settings: { mode: 'all' } })
  assert.ok(made.num_messages_after >= 2)
  assert.ok(made.num_messages_before > made.num_messages_after)
  assert.match(made.summary, /They counted to three/)
  assert.equal(await client.agents.messages.reset(agentId, { add_default_initial_messages: false }), null)
  await client.agents.messages.create(agentId, { input: 'fresh' })
  assert.ok(!JSON.stringify(simulator.requests.at(-1)?.body).includes('counted to three'))
})
