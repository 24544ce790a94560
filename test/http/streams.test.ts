import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, heard, history, MODES, sendIn, settled, typesIn } from './send-modes.ts'
import { serveFor } from './served.ts'

const hello = { messages: [{ role: 'user', content: 'Hello' }] }
const SLOW = { text: 'abcdefghij'.repeat(30), pace: { everyMs: 15, charactersPerChunk: 5 } }
const isContent = ({ message_type }: Heard) => message_type.endsWith('_message')

for (const mode of MODES) {
  test(`${mode}: the stream of a run can be read again from anywhere, also past its end`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    const dice = { calls: [{ id: 'call-1', name: 'roll_dice', arguments: {} }] }
    simulator.script(
      { when: { attempt: 1 }, answer: dice },
      { answer: { text: 'Rolled it, and here is what I think of it.' } },
    )
    const { runId, events } = await sendIn(mode, client, { agentId, body: hello })
    await settled(client, runId)
    const whole = await heard(await client.runs.messages.stream(runId, { starting_after: 0 }))
    const named = (list: Heard[]) => list.filter(isContent).map(({ date: _, ...event }) => event)
    if (events.length > 0) assert.deepEqual(named(whole.events), named(events))
    assert.deepEqual(typesIn(whole.messages), ['tool_call_message', 'tool_return_message', 'assistant_message'])

    const last = whole.events.findLast(isContent)
    const rest = await heard(await client.runs.messages.stream(runId, { starting_after: last.seq_id - 1 }))
    assert.deepEqual(typesIn(rest.events), [last.message_type, 'stop_reason', 'usage_statistics'])
    assert.equal(rest.events[0].seq_id, last.seq_id)
    assert.equal(rest.events[0].otid, last.otid)

    const past = await heard(await client.runs.messages.stream(runId, { starting_after: 1_000_000 }))
    assert.deepEqual(typesIn(past.events), ['stop_reason', 'usage_statistics'])
  })
}

test('a stream begins with a ping that names the run and numbers everything it says', async (t) => {
  const { client, agentId } = await serveFor(t)
  const { events, runId } = await sendIn('token stream', client, { agentId, body: hello })
  assert.equal(events[0].message_type, 'ping')
  assert.equal(events[0].run_id, runId)
  const numbers = events.filter(isContent).map(({ seq_id }) => seq_id)
  assert.ok(numbers.length > 1 && numbers.every((number, index) => index === 0 || number > numbers[index - 1]))
  assert.ok(events.filter(isContent).every((event) => event.run_id === runId && event.step_id.startsWith('step-')))
})

test('what fails on the way is told to those who listen for it, and the official client does not stumble', async (t) => {
  const { client, agentId, simulator, fetch } = await serveFor(t)
  simulator.script({ when: { attempt: 1 }, answer: { error: 'server-error' } }, { answer: { text: 'Better.' } })
  const { runId, messages } = await sendIn('token stream', client, { agentId, body: hello })
  assert.deepEqual(typesIn(messages), ['assistant_message'])
  const raw = await (await fetch(`/v1/runs/${runId}/stream`, { method: 'POST' })).text()
  assert.match(raw, /event: attempt_failed\ndata: .*server-error/)
  assert.ok(raw.endsWith('data: [DONE]\n\n'))
  const attempts = (await (await fetch(`/v1/runs/${runId}/attempts`)).json()) as Heard[]
  assert.deepEqual(
    attempts.map(({ outcome, target }) => [outcome, target]),
    [
      ['failed', 'openai/simulated-model'],
      ['answered', 'openai/simulated-model'],
    ],
  )
})

test('an error ends a stream after its stop reason, with the run it belongs to', async (t) => {
  const { agentId, simulator, fetch } = await serveFor(t)
  simulator.script({ answer: { error: 'invalid-request' } })
  const body = JSON.stringify({ ...hello, streaming: true })
  const raw = await (await fetch(`/v1/agents/${agentId}/messages`, { method: 'POST', body })).text()
  const events = raw
    .trim()
    .split('\n\n')
    .filter((event) => !event.startsWith('event: attempt_failed'))
  assert.match(events[0]!, /"message_type":"ping"/)
  assert.match(events[1]!, /"stop_reason":"llm_api_error"/)
  assert.match(
    events[2]!,
    /^event: error\ndata: \{"message_type":"error_message","run_id":"run-.*"error_type":"llm_error"/,
  )
  assert.equal(events[3], 'data: [DONE]')
})

test('a reader that leaves stops nothing, unless it asked for that', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  for (const [cancel_on_disconnect, status] of [
    [false, 'completed'],
    [true, 'cancelled'],
  ] as const) {
    simulator.script({ answer: SLOW })
    const body = { ...hello, streaming: true, stream_tokens: true, cancel_on_disconnect }
    const stream = await client.agents.messages.create(agentId, body as never)
    let runId = ''
    for await (const event of stream as unknown as AsyncIterable<Heard>) {
      runId = event.run_id
      if (event.message_type === 'assistant_message') break
    }
    assert.equal((await settled(client, runId)).status, status)
  }
})

for (const mode of ['step stream', 'token stream', 'background'] as const) {
  test(`${mode}: after kill -9 in mid-answer the client goes on where it was, on the restarted server`, async (t) => {
    const { client, agentId, simulator, kill, start } = await serveFor(t)
    simulator.script({ answer: SLOW })
    const tokens = mode !== 'step stream'
    const body = { ...hello, streaming: true, stream_tokens: tokens, background: mode === 'background' }
    const stream = await client.agents.messages.create(agentId, body as never)
    const before: Heard[] = []
    await assert.rejects(async () => {
      for await (const event of stream as unknown as AsyncIterable<Heard>) {
        before.push(event)
        if (before.length === (tokens ? 8 : 1)) await kill()
      }
      throw new Error('the stream ended as if nothing had happened')
    })
    await start()
    const { run_id } = before[0]
    const seen = before.findLast(isContent)?.seq_id ?? 0
    const rest = await heard(await client.runs.messages.stream(run_id, { starting_after: seen }))
    assert.equal(rest.stopReason, 'end_turn')
    assert.ok(rest.events.filter(isContent).every(({ seq_id }) => seq_id > seen))
    const answer = (await history(client, agentId)).at(-1)
    assert.equal(answer.content, SLOW.text)
    assert.equal(rest.messages.at(-1).otid, answer.otid)
    assert.equal((await client.runs.retrieve(run_id)).status, 'completed')
    assert.equal((await history(client, agentId)).length, 2)
  })
}

test('a server that is asked to stop ends its streams without an end, and goes on after its next start', async (t) => {
  const { agentId, simulator, client, stop, start, fetch } = await serveFor(t)
  simulator.script({ answer: SLOW })
  const body = JSON.stringify({ ...hello, streaming: true, stream_tokens: true })
  const response = await fetch(`/v1/agents/${agentId}/messages`, { method: 'POST', body })
  const runId = response.headers.get('x-run-id')!
  const text = response.text()
  await simulator.waitForRequests(1)
  await stop()
  assert.ok(!(await text).includes('[DONE]'))
  assert.ok(!(await text).includes('stop_reason'))
  await start()
  const rest = await heard(await client.runs.messages.stream(runId, {}))
  assert.equal(rest.stopReason, 'end_turn')
  assert.equal((await client.runs.retrieve(runId)).status, 'completed')
})
