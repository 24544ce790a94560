import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, MODES, readStream, sendIn, typesIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { approvalMessage, approveCall, DICE, hello, NEVER, POSTCARD } from './sample-messages.ts'

/** A count that runs longer than every test and stops when it is cancelled. */
const COUNT = { id: 'call-count', name: 'slow_count', arguments: { to: 100, pauseSeconds: 5 } }
const CARDS = ['a', 'b', 'c'].map((id) => ({ ...POSTCARD, id: `card-${id}` }))

/** The state a cancelled run leaves behind, for a cancel at every point. */
export function cancellation({ server, newAgent }: BehaviorFixture): void {
  const agentNow = (agentId: string) =>
    server().client.agents.retrieve(agentId, { include: ['agent.pending_approval'] }) as Promise<WireValue>

  /** All messages of the history are in the context of the agent, and all messages of the context can be read. */
  async function inStep(agentId: string): Promise<void> {
    const [system, ...inContext] = (await agentNow(agentId)).message_ids as string[]
    assert.ok(system)
    const shown = new Set((await history(server().client, agentId)).map(({ id }) => id))
    assert.deepEqual(
      [...shown].filter((id) => !inContext.includes(id)),
      [],
    )
    for (const id of inContext.filter((one) => !shown.has(one)))
      assert.ok((await server().client.messages.retrieve(id)).length > 0, id)
  }

  async function cancelAfterRequests(count: number, agentId: string): Promise<void> {
    await server().simulator.waitForRequests(count)
    assert.deepEqual(Object.values(await server().client.agents.messages.cancel(agentId, {})), ['cancelled'])
  }

  for (const mode of MODES) {
    test(`${mode}: a cancel after the first step leaves that step whole in the reply, the history and the context`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: NEVER })
      const sending = sendIn(mode, client, { agentId, body: hello() })
      await cancelAfterRequests(2, agentId)
      const { messages, stopReason, runId } = await sending
      assert.equal(stopReason, 'cancelled')
      const kept = (await history(client, agentId)).slice(1)
      const whole = ['tool_call_message', 'tool_return_message']
      assert.deepEqual(typesIn(kept).slice(0, 2), whole)
      assert.deepEqual(typesIn(messages).slice(0, 2), whole)
      const ids = (list: WireValue[]) => list.map(({ id, otid }) => [id, otid])
      assert.deepEqual(ids(messages), ids(kept))
      assert.deepEqual((await client.runs.messages.list(runId)).getPaginatedItems().length, kept.length + 1)
      assert.equal((await agentNow(agentId)).last_stop_reason, 'cancelled')
      await inStep(agentId)
    })

    test(`${mode}: a cancel while a tool runs stops the tool, and its call has a result that says so`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: { calls: [COUNT] } }, { answer: { text: 'Never said.' } })
      const sending = sendIn(mode, client, { agentId, body: hello() })
      await untilMessages(agentId, 'tool_call_message')
      await client.agents.messages.cancel(agentId, {})
      const { stopReason } = await sending
      assert.equal(stopReason, 'cancelled')
      const kept = await history(client, agentId)
      assert.deepEqual(typesIn(kept), ['user_message', 'tool_call_message', 'tool_return_message'])
      assert.deepEqual([kept[2].tool_call_id, kept[2].status], ['call-count', 'error'])
      assert.equal(simulator.requests.length, 1, 'no step follows')
      await inStep(agentId)
    })

    test(`${mode}: an agent answers after a cancelled run, and the messages of both runs are in its context`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ answer: NEVER })
      const sending = sendIn(mode, client, { agentId, body: hello() })
      await cancelAfterRequests(1, agentId)
      assert.equal((await sending).stopReason, 'cancelled')
      const before = (await agentNow(agentId)).message_ids.length
      simulator.script()
      const { stopReason, runId } = await sendIn(mode, client, { agentId, body: hello() })
      assert.equal(stopReason, 'end_turn')
      const after = await agentNow(agentId)
      assert.ok(after.message_ids.length >= before + 2)
      assert.deepEqual([after.last_stop_reason, (await client.runs.retrieve(runId)).status], ['end_turn', 'completed'])
      await inStep(agentId)
    })

    test(`${mode}: a cancel while an approval is pending leaves no message outside the context and no pending approval`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: { text: 'I ask.', calls: [POSTCARD] } })
      const { runId } = await sendIn(mode, client, { agentId, body: hello() })
      await inStep(agentId)
      assert.deepEqual(await client.agents.messages.cancel(agentId, { run_ids: [runId] }), { [runId]: 'cancelled' })
      const run = await client.runs.retrieve(runId)
      assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled'])
      const agent = await agentNow(agentId)
      assert.deepEqual([agent.last_stop_reason, agent.pending_approval], ['cancelled', null])
      const kept = await history(client, agentId)
      assert.deepEqual(typesIn(kept).slice(-2), ['approval_response_message', 'tool_return_message'])
      await inStep(agentId)
    })
  }

  test('a cancel during a token stream ends it once, and the streamed text is kept', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ answer: NEVER })
    const body = { ...hello(), streaming: true, stream_tokens: true }
    const stream = (await client.agents.messages.create(agentId, body as never)) as unknown as AsyncIterable<WireValue>
    const events: WireValue[] = []
    for await (const event of stream) {
      events.push(event)
      if (events.length === 4) await client.agents.messages.cancel(agentId, {})
    }
    assert.deepEqual(
      events.filter(({ message_type }) => message_type === 'stop_reason').map(({ stop_reason }) => stop_reason),
      ['cancelled'],
    )
    const streamed = events.flatMap(({ message_type, content }) =>
      message_type === 'assistant_message' ? [content] : [],
    )
    const answer = (await history(client, agentId)).at(-1)
    assert.equal(answer.message_type, 'assistant_message')
    assert.ok(answer.content.startsWith(streamed.join('')))
    await inStep(agentId)
  })

  test('a step stream sends finished steps whole, also when the run is cancelled after them', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { calls: [COUNT] } })
    const stream = readStream(await client.agents.messages.create(agentId, { ...hello(), streaming: true } as never))
    await untilMessages(agentId, 'tool_return_message')
    await server().simulator.waitForRequests(2)
    await client.agents.messages.cancel(agentId, {})
    const { messages, stopReason } = await stream
    assert.deepEqual(typesIn(messages).slice(0, 2), ['tool_call_message', 'tool_return_message'])
    assert.equal(JSON.parse(messages[0].tool_call.arguments) !== undefined, true)
    assert.equal(stopReason, 'cancelled')
  })

  test('a run that is cancelled before it starts ends as cancelled and never calls a model', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ answer: NEVER })
    const first = await client.agents.messages.createAsync(agentId, { input: 'first' })
    await simulator.waitForRequests(1)
    const second = await client.agents.messages.createAsync(agentId, { input: 'second' })
    assert.equal((await client.runs.retrieve(second.id)).status, 'created')
    await client.agents.messages.cancel(agentId, { run_ids: [second.id] })
    const run = await waitUntilSettled(client, second.id)
    assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled'])
    await client.agents.messages.cancel(agentId, { run_ids: [first.id] })
    await waitUntilSettled(client, first.id)
    assert.equal(simulator.requests.length, 1)
    await inStep(agentId)
  })

  test('the next run repeats nothing of a cancelled one', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: NEVER })
    const sending = sendIn('token stream', client, { agentId, body: hello() })
    await cancelAfterRequests(2, agentId)
    await sending
    simulator.script({ answer: { text: 'Fresh.' } })
    const { messages } = await sendIn('token stream', client, { agentId, body: hello() })
    assert.deepEqual(typesIn(messages), ['assistant_message'])
    assert.equal(messages[0].content, 'Fresh.')
  })

  test('an approval that arrives after its run was cancelled runs no tool', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'As you wish.' } })
    const { runId } = await sendIn('blocking', client, { agentId, body: hello() })
    await client.agents.messages.cancel(agentId, { run_ids: [runId] })
    const late = await sendIn('blocking', client, { agentId, body: approvalMessage(approveCall('call-card')) }).catch(
      (fault) => fault,
    )
    const returns = (await history(client, agentId)).filter(
      ({ message_type }) => message_type === 'tool_return_message',
    )
    assert.deepEqual(
      returns.map(({ status }) => status),
      ['error'],
      JSON.stringify(late),
    )
    assert.equal((await client.runs.retrieve(runId)).status, 'cancelled')
    await inStep(agentId)
  })

  test('an agent whose approval was cancelled runs other tools and is not stuck', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } })
    const { runId } = await sendIn('background', client, { agentId, body: hello() })
    await client.agents.messages.cancel(agentId, { run_ids: [runId] })
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Rolled.' } })
    const next = await sendIn('blocking', client, { agentId, body: hello() })
    assert.deepEqual(typesIn(next.messages), ['tool_call_message', 'tool_return_message', 'assistant_message'])
    assert.equal(next.stopReason, 'end_turn')
  })

  test('a cancel denies every pending call, each with the reason', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: CARDS } }, { answer: { text: 'Fine.' } })
    const waiting = await sendIn('blocking', client, { agentId, body: hello() })
    assert.equal(waiting.messages.at(-1).tool_calls.length, 3)
    await assert.rejects(sendIn('blocking', client, { agentId, body: hello() }), { status: 409 })
    await client.agents.messages.cancel(agentId, { run_ids: [waiting.runId] })
    const kept = await history(client, agentId)
    const { tool_returns } = kept.at(-1)
    assert.equal(tool_returns.length, 3)
    for (const one of tool_returns) {
      assert.equal(one.status, 'error')
      assert.match(one.tool_return, /[Dd]enied.*cancelled/)
    }
    assert.deepEqual(
      kept.at(-2).approvals.map(({ approve }: WireValue) => approve),
      [false, false, false],
    )
    assert.equal((await client.runs.retrieve(waiting.runId)).status, 'cancelled')
    await inStep(agentId)
    assert.equal((await sendIn('blocking', client, { agentId, body: hello() })).stopReason, 'end_turn')
  })

  test('a cancel at the last allowed step ends the run as cancelled or at its step limit, never otherwise', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ answer: { ...DICE, pace: { beforeFirstChunkMs: 30 } } })
    const sending = sendIn('blocking', client, { agentId, body: { ...hello(), max_steps: 2 } })
    await simulator.waitForRequests(2)
    await client.agents.messages.cancel(agentId, {}).catch(({ status }) => assert.equal(status, 409))
    const { stopReason, runId } = await sending
    assert.ok(['cancelled', 'max_steps'].includes(stopReason), stopReason)
    assert.equal((await client.runs.retrieve(runId)).stop_reason, stopReason)
    await inStep(agentId)
  })

  test('a second cancel changes nothing', async () => {
    const { client, simulator, fetch } = server()
    const agentId = await newAgent()
    simulator.script({ answer: NEVER })
    const { id } = await client.agents.messages.createAsync(agentId, { input: 'first' })
    await simulator.waitForRequests(1)
    const cancel = () => client.agents.messages.cancel(agentId, { run_ids: [id] })
    assert.deepEqual(await Promise.all([cancel(), cancel()]), [{ [id]: 'cancelled' }, { [id]: 'cancelled' }])
    const ended = await waitUntilSettled(client, id)
    assert.deepEqual(await cancel(), { [id]: 'cancelled' })
    assert.deepEqual(await client.runs.retrieve(id), ended)
    assert.equal((await fetch(`/v1/runs/${id}`, { method: 'DELETE', body: '{}' })).status, 409)
    await inStep(agentId)
  })

  test('a run can be cancelled by its id alone and stays in the list after its end', async () => {
    const { client, simulator, fetch } = server()
    const agentId = await newAgent()
    simulator.script({ answer: NEVER })
    const { id } = await client.agents.messages.createAsync(agentId, { input: 'first' })
    const cancelled = await fetch(`/v1/runs/${id}`, { method: 'DELETE', body: '{}' })
    assert.equal(cancelled.status, 200)
    assert.equal(((await cancelled.json()) as WireValue).status, 'cancelled')
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems()[0]?.id, id)
  })

  async function untilMessages(agentId: string, type: string): Promise<void> {
    for (;;) {
      if (typesIn(await history(server().client, agentId)).includes(type)) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}
