import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, readStream, sendIn, typesIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { hello, SLOW } from './sample-messages.ts'

const isContent = ({ message_type }: WireValue) => message_type.endsWith('_message')
const STREAMING = ['step stream', 'token stream', 'background'] as const

/** Streams while readers disconnect and servers restart. */
export function streams({ server, newAgent }: BehaviorFixture): void {
  test('a stream starts with a ping that names the run, and numbers its events', async () => {
    const { client } = server()
    const agentId = await newAgent()
    const { events, runId } = await sendIn('token stream', client, { agentId, body: hello() })
    assert.equal(events[0].message_type, 'ping')
    assert.equal(events[0].run_id, runId)
    const numbers = events.filter(isContent).map(({ seq_id }) => seq_id)
    assert.ok(numbers.length > 1 && numbers.every((number, index) => index === 0 || number > numbers[index - 1]))
    assert.ok(events.filter(isContent).every((event) => event.run_id === runId && event.step_id.startsWith('step-')))
  })

  test('a failed attempt is sent as a named event, which the official client skips', async () => {
    const { client, simulator, fetch } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { error: 'server-error' } }, { answer: { text: 'Better.' } })
    const { runId, messages } = await sendIn('token stream', client, { agentId, body: hello() })
    assert.deepEqual(typesIn(messages), ['assistant_message'])
    const raw = await (await fetch(`/v1/runs/${runId}/stream`, { method: 'POST' })).text()
    assert.match(raw, /event: attempt_failed\ndata: .*server-error/)
    assert.ok(raw.endsWith('data: [DONE]\n\n'))
    const attempts = (await (await fetch(`/v1/runs/${runId}/attempts`)).json()) as WireValue[]
    assert.deepEqual(
      attempts.map(({ outcome, target }) => `${outcome} ${target}`),
      ['failed openai/simulated-model', 'answered openai/simulated-model'],
    )
  })

  test('a failed run ends its stream with a stop reason and then an error that names the run', async () => {
    const { simulator, fetch } = server()
    const agentId = await newAgent()
    simulator.script({ answer: { error: 'invalid-request' } })
    const body = JSON.stringify({ ...hello(), streaming: true })
    const raw = await (await fetch(`/v1/agents/${agentId}/messages`, { method: 'POST', body })).text()
    const events = raw
      .trim()
      .split('\n\n')
      .filter((event) => !event.startsWith('event: attempt_failed'))
    assert.match(events[0]!, /"message_type":"ping"/)
    assert.match(events[1]!, /"stop_reason":"llm_api_error"/)
    const error = /^event: error\ndata: \{"message_type":"error_message","run_id":"run-.*"error_type":"llm_error"/
    assert.match(events[2]!, error)
    assert.equal(events[3], 'data: [DONE]')
  })

  test('a reader that disconnects does not stop the run, unless it asked for that', async () => {
    const { client, simulator } = server()
    for (const [cancel_on_disconnect, status] of [
      [false, 'completed'],
      [true, 'cancelled'],
    ] as const) {
      const agentId = await newAgent()
      simulator.script({ answer: SLOW })
      const body = { ...hello(), streaming: true, stream_tokens: true, cancel_on_disconnect }
      const stream = await client.agents.messages.create(agentId, body as never)
      let runId = ''
      for await (const event of stream as unknown as AsyncIterable<WireValue>) {
        runId = event.run_id
        if (event.message_type === 'assistant_message') break
      }
      assert.equal((await waitUntilSettled(client, runId)).status, status)
    }
  })

  for (const mode of STREAMING) {
    test(`${mode}: after kill -9 during an answer the client resumes where it was on the restarted server`, async () => {
      const { client, simulator, kill, start } = server()
      const agentId = await newAgent()
      simulator.script({ answer: SLOW })
      const tokens = mode !== 'step stream'
      const body = { ...hello(), streaming: true, stream_tokens: tokens, background: mode === 'background' }
      const stream = await client.agents.messages.create(agentId, body as never)
      const before: WireValue[] = []
      await assert.rejects(async () => {
        for await (const event of stream as unknown as AsyncIterable<WireValue>) {
          before.push(event)
          if (before.length === (tokens ? 8 : 1)) await kill()
        }
        throw new Error('the stream ended as if nothing had happened')
      })
      await start()
      const { run_id } = before[0]
      const seen = before.findLast(isContent)?.seq_id ?? 0
      const rest = await readStream(await client.runs.messages.stream(run_id, { starting_after: seen }))
      assert.equal(rest.stopReason, 'end_turn')
      assert.ok(rest.events.filter(isContent).every(({ seq_id }) => seq_id > seen))
      const kept = await history(client, agentId)
      assert.deepEqual(typesIn(kept), ['user_message', 'assistant_message'])
      assert.equal(kept[1].content, SLOW.text)
      assert.equal(rest.messages.at(-1).otid, kept[1].otid)
      if (!tokens)
        assert.deepEqual(
          rest.messages.map(({ content }) => content),
          [SLOW.text],
        )
      assert.equal((await client.runs.retrieve(run_id)).status, 'completed')
    })
  }

  test('a server that shuts down ends its streams without [DONE], and the runs continue after the next start', async () => {
    const { simulator, client, stop, start, fetch } = server()
    const agentId = await newAgent()
    simulator.script({ answer: SLOW })
    const body = JSON.stringify({ ...hello(), streaming: true, stream_tokens: true })
    const response = await fetch(`/v1/agents/${agentId}/messages`, { method: 'POST', body })
    const runId = response.headers.get('x-run-id')!
    const text = response.text()
    await simulator.waitForRequests(1)
    await stop()
    assert.ok(!(await text).includes('[DONE]'))
    assert.ok(!(await text).includes('stop_reason'))
    await start()
    const rest = await readStream(await client.runs.messages.stream(runId, {}))
    assert.equal(rest.stopReason, 'end_turn')
    assert.equal((await client.runs.retrieve(runId)).status, 'completed')
  })
}
