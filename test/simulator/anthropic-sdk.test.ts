import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import type { Reply } from '../../src/simulator/script.ts'
import type { Simulator } from '../../src/simulator/start-simulator.ts'
import { simulatorFixture } from './fixture-simulator.ts'

const clientOf = ({ url }: Simulator) => new Anthropic({ apiKey: 'sk-ant', baseURL: url, maxRetries: 0 })
const HELLO = { model: 'm', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] }

const FULL: Reply = {
  text: 'Grüße aus Bergen 🌧️',
  reasoning: { text: 'The user wants the weather.', signature: 'EqQB', redacted: 'secret' },
  calls: [
    { id: 'toolu_1', name: 'forecast', arguments: { city: 'Bergen', days: 3 } },
    { id: 'toolu_2', name: 'clock' },
  ],
  usage: { input: 100, output: 20, cached: 60, written: 30 },
}

const CONTENT = [
  { type: 'thinking', thinking: 'The user wants the weather.', signature: 'EqQB' },
  { type: 'redacted_thinking', data: 'secret' },
  { type: 'text', text: FULL.text },
  { type: 'tool_use', id: 'toolu_1', name: 'forecast', input: { city: 'Bergen', days: 3 } },
  { type: 'tool_use', id: 'toolu_2', name: 'clock', input: {} },
]

test('the Anthropic SDK reads a streamed answer: thinking with its signature, text, parallel calls, usage', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const answer = await clientOf(simulator).messages.stream(HELLO).finalMessage()
  assert.deepEqual(answer.content.map(plain), CONTENT)
  assert.equal(answer.stop_reason, 'tool_use')
  assert.equal(answer.usage.input_tokens, 10)
  assert.equal(answer.usage.cache_read_input_tokens, 60)
  assert.equal(answer.usage.cache_creation_input_tokens, 30)
  assert.equal(answer.usage.output_tokens, 20)
})

test('a non-streamed answer has the same content', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const answer = await clientOf(simulator).messages.create(HELLO)
  assert.deepEqual(answer.content.map(plain), CONTENT)
  assert.equal(answer.stop_reason, 'tool_use')
})

test('pings before an answer do not change it', async (context) => {
  const answer: Reply = { text: 'Hello.', breaks: { how: 'pings', count: 3, everyMs: 1 } }
  const simulator = await simulatorFixture(context, { script: [{ answer }] })
  const read = await clientOf(simulator).messages.stream(HELLO).finalMessage()
  assert.deepEqual(read.content.map(plain), [{ type: 'text', text: 'Hello.' }])
})

test('empty answers, thinking only, length and refusal are preserved', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [
      { times: 1, answer: {} },
      { times: 1, answer: { reasoning: { text: 'Hm.', signature: 's' } } },
      { times: 1, answer: { text: 'Half', finish: 'length' } },
      { times: 1, answer: { finish: 'refusal' } },
    ],
  })
  const client = clientOf(simulator)
  const read = async () => {
    const { content, stop_reason } = await client.messages.stream(HELLO).finalMessage()
    return [content.map(({ type }) => type).join(), stop_reason]
  }
  assert.deepEqual(await read(), ['', 'end_turn'])
  assert.deepEqual(await read(), ['thinking', 'end_turn'])
  assert.deepEqual(await read(), ['text', 'max_tokens'])
  assert.deepEqual(await read(), ['', 'refusal'])
})

test('an error has the status and type of the vendor, before and inside a stream', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [
      { times: 1, answer: { error: 'overloaded' } },
      { answer: { text: 'a', breaks: { how: 'error-event', error: 'overloaded', afterChunks: 3 } } },
    ],
  })
  const isOverloaded = (status: number | undefined) => (fault: unknown) => {
    assert.ok(fault instanceof APIError)
    assert.equal(fault.status, status)
    assert.match(JSON.stringify(fault.error), /overloaded_error/)
    return true
  }
  await assert.rejects(clientOf(simulator).messages.create(HELLO), isOverloaded(529))
  await assert.rejects(clientOf(simulator).messages.stream(HELLO).finalMessage(), isOverloaded(undefined))
})

test('the model list has the format of the vendor', async (context) => {
  const simulator = await simulatorFixture(context, { models: ['one', 'two'] })
  const ids: string[] = []
  for await (const model of clientOf(simulator).models.list()) ids.push(model.id)
  assert.deepEqual(ids, ['one', 'two'])
})

const plain = (block: object): unknown => JSON.parse(JSON.stringify(block))
