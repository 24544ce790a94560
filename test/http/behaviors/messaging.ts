import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, MODES, readStream, sendIn, typesIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { DICE, hello, NEVER } from './sample-messages.ts'

const THREE = ['a', 'b', 'c'].map((name) => ({ id: `call-${name}`, name: 'roll_dice', arguments: {} }))
const isContent = ({ message_type }: WireValue) => message_type.endsWith('_message')

/** Sending in each of the five modes. */
export function messaging({ server, newAgent }: BehaviorFixture): void {
  for (const mode of MODES) {
    test(`${mode}: a greeting is answered with a stop reason and usage, and stored under the client's otid (client 1)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const cursor = await lastMessage(agentId)
      simulator.script({ answer: { reasoning: { text: 'They greet me.' }, text: 'Hello to you.' } })
      const otid = crypto.randomUUID()
      const reply = await sendIn(mode, client, { agentId, body: hello(otid) })
      assert.deepEqual(typesIn(reply.messages), ['reasoning_message', 'assistant_message'])
      assert.equal(reply.messages[1].content, 'Hello to you.')
      assert.equal(reply.stopReason, 'end_turn')
      if (reply.events.length > 0)
        assert.deepEqual(typesIn(reply.events).slice(-2), ['stop_reason', 'usage_statistics'])
      if (mode !== 'async') {
        assert.ok(reply.usage.prompt_tokens > 0 && reply.usage.completion_tokens > 0)
        assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        assert.equal(reply.usage.step_count, 1)
      }
      const kept = await history(client, agentId, cursor ? { after: cursor } : {})
      assert.deepEqual(typesIn(kept), ['user_message', 'reasoning_message', 'assistant_message'])
      assert.equal(kept[0].otid, otid)
      assert.deepEqual(kept.slice(1).map(named), reply.messages.map(named))
      assert.deepEqual(await history(client, agentId, { after: kept.at(-1).id }), [])
    })

    test(`${mode}: the slices of a message are numbered by the last digit of their otids, from 0 in each step (client 2)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const thought = { reasoning: { text: 'I think.' }, text: 'I roll.' }
      simulator.script({ when: { attempt: 1 }, answer: { ...thought, ...DICE } }, { answer: thought })
      const { messages } = await sendIn(mode, client, { agentId, body: hello() })
      const step = ['reasoning_message', 'assistant_message']
      assert.deepEqual(typesIn(messages), [...step, 'tool_call_message', 'tool_return_message', ...step])
      assert.equal(messages.map(({ otid }) => otid.at(-1)).join(' '), '0 1 2 0 0 1')
      assert.equal(new Set(messages.map(({ otid }) => otid)).size, 6)
      assert.deepEqual((await history(client, agentId)).slice(1).map(named), messages.map(named))
    })

    test(`${mode}: a tool call, its result and the answer come in this order, in the reply and in the history (client 3)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Rolled.' } })
      const reply = await sendIn(mode, client, { agentId, body: hello() })
      const types = ['tool_call_message', 'tool_return_message', 'assistant_message']
      assert.deepEqual(typesIn(reply.messages), types)
      const [called, returned, answered] = reply.messages
      assert.notEqual(called.step_id, answered.step_id)
      assert.equal(returned.step_id, called.step_id)
      assert.equal(returned.tool_call_id, called.tool_call.tool_call_id)
      const kept = (await history(client, agentId)).slice(1)
      assert.deepEqual(typesIn(kept), types)
      assert.deepEqual(kept.map(named), reply.messages.map(named))
      assert.deepEqual(kept[1].tool_returns, returned.tool_returns)
    })

    test(`${mode}: messages name their run, which is completed and listed (client 4)`, async () => {
      const { client } = server()
      const agentId = await newAgent()
      const { messages, runId } = await sendIn(mode, client, { agentId, body: hello() })
      assert.ok(messages.every(({ run_id }) => run_id === runId))
      const run = await client.runs.retrieve(runId)
      const isBackground = mode === 'background' || mode === 'async'
      assert.deepEqual([run.status, run.stop_reason, run.background], ['completed', 'end_turn', isBackground])
      assert.ok(run.completed_at)
      for (const filter of [{ agent_id: agentId }, { agent_ids: [agentId] }]) {
        const [newest] = (await client.runs.list({ ...filter, background: isBackground })).getPaginatedItems()
        assert.equal(newest?.id, runId)
      }
    })

    test(`${mode}: the stream of a run can be resumed from any position, also past its end (client 6)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const answer = { text: 'Rolled it, and here is what I think of it.' }
      simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer })
      const { runId, events } = await sendIn(mode, client, { agentId, body: hello() })
      const whole = await readStream(await client.runs.messages.stream(runId, { starting_after: 0 }))
      // A date is the time when a piece was said, so it is the same in every replay.
      if (events.length > 0) assert.deepEqual(whole.events.filter(isContent), events.filter(isContent))
      assert.deepEqual(typesIn(whole.messages), ['tool_call_message', 'tool_return_message', 'assistant_message'])

      const last = whole.events.findLast(isContent)
      const cursor = last.seq_id - 1
      const rest = await readStream(await client.runs.messages.stream(runId, { starting_after: cursor }))
      assert.deepEqual(typesIn(rest.events), [last.message_type, 'stop_reason', 'usage_statistics'])
      assert.deepEqual([rest.events[0].seq_id, rest.events[0].otid], [cursor + 1, last.otid])

      for (const [index, { run_id, seq_id }] of rest.events.entries()) {
        assert.deepEqual([run_id, seq_id], [runId, cursor + 1 + index])
        const exact = await readStream(await client.runs.messages.stream(runId, { starting_after: seq_id }))
        assert.deepEqual(exact.events, rest.events.slice(index + 1), `exactly what follows ${seq_id}`)
      }

      const past = await readStream(await client.runs.messages.stream(runId, { starting_after: 1_000_000 }))
      assert.deepEqual(typesIn(past.events), ['stop_reason', 'usage_statistics'])
    })

    test(`${mode}: parallel calls are one message, and so are their results (client 7)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: { calls: THREE } }, { answer: { text: 'Rolled.' } })
      const { messages } = await sendIn(mode, client, { agentId, body: hello() })
      const types = ['tool_call_message', 'tool_return_message', 'assistant_message']
      for (const list of [messages, (await history(client, agentId)).slice(1)]) {
        assert.deepEqual(typesIn(list), types)
        const ids = (calls: WireValue[]) => calls.map(({ tool_call_id }) => tool_call_id)
        assert.deepEqual(ids(list[0].tool_calls), ['call-a', 'call-b', 'call-c'])
        assert.equal(list[0].tool_call.tool_call_id, 'call-a')
        assert.deepEqual(ids(list[1].tool_returns), ['call-a', 'call-b', 'call-c'])
        assert.ok(list[1].tool_returns.every((one: WireValue) => one.type === 'tool' && one.status === 'success'))
      }
    })

    test(`${mode}: a cancelled run ends exactly once, as cancelled, and the agent stays usable (client 8)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ answer: NEVER })
      const sending = sendIn(mode, client, { agentId, body: hello() })
      await simulator.waitForRequests(1)
      const cancelled = await client.agents.messages.cancel(agentId, {})
      assert.deepEqual(Object.values(cancelled), ['cancelled'])
      const reply = await sending
      assert.equal(reply.stopReason, 'cancelled', 'exactly one')
      if (reply.events.length > 0) assert.equal(reply.usage, undefined, 'no usage after a cancel')
      const run = await waitUntilSettled(client, reply.runId)
      assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled'])
      simulator.script()
      assert.equal((await sendIn(mode, client, { agentId, body: hello() })).stopReason, 'end_turn')
      await assert.rejects(client.agents.messages.cancel(agentId, {}), { status: 409 })
    })
  }

  test('an async run can be polled to its end, and its messages are the input followed by the reply (client 5)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Rolled.' } })
    const run = await client.agents.messages.createAsync(agentId, hello() as never)
    assert.ok(['created', 'running', 'completed'].includes(run.status!))
    const ended = await waitUntilSettled(client, run.id)
    assert.deepEqual([ended.status, ended.background], ['completed', true])
    const listed = (await client.runs.messages.list(run.id)).getPaginatedItems() as WireValue[]
    const types = ['user_message', 'tool_call_message', 'tool_return_message', 'assistant_message']
    assert.deepEqual(typesIn(listed), types)
    assert.deepEqual(listed, await history(client, agentId))
    const whole = await readStream(await client.runs.messages.stream(run.id, {}))
    assert.deepEqual(whole.messages.map(named), listed.slice(1).map(named))
  })

  async function lastMessage(agentId: string): Promise<string | undefined> {
    return (await history(server().client, agentId)).at(-1)?.id
  }
}

const named = ({ message_type, id, otid, step_id, run_id }: WireValue) => ({ message_type, id, otid, step_id, run_id })
