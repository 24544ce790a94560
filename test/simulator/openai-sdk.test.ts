import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import type { Reply } from '../../src/simulator/script.ts'
import type { Simulator } from '../../src/simulator/start-simulator.ts'
import { simulatorFixture } from './fixture-simulator.ts'

const clientOf = ({ url }: Simulator) => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, maxRetries: 0 })

const FULL: Reply = {
  text: 'Grüße aus Bergen 🌧️',
  reasoning: { text: 'The user wants the weather.', encrypted: 'gAAAA' },
  calls: [
    { name: 'forecast', arguments: { city: 'Bergen', days: 3 } },
    { name: 'clock', arguments: {} },
  ],
  usage: { input: 100, output: 20, cached: 60, reasoning: 7 },
}

test('the OpenAI SDK reads a streamed chat answer: text, parallel calls, usage and reasoning', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const stream = clientOf(simulator).chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    stream_options: { include_usage: true },
  })
  let reasoning = ''
  for await (const chunk of stream)
    reasoning += (chunk.choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''
  const answer = await stream.finalChatCompletion()
  const { message, finish_reason } = answer.choices[0]!
  assert.equal(message.content, FULL.text)
  assert.equal(finish_reason, 'tool_calls')
  assert.equal(reasoning, FULL.reasoning?.text)
  const calls = message.tool_calls!.map(
    (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
  )
  assert.deepEqual(calls, [
    ['call_1_1', 'forecast', '{"city":"Bergen","days":3}'],
    ['call_1_2', 'clock', '{}'],
  ])
  assert.equal(answer.usage?.prompt_tokens, 100)
  assert.equal(answer.usage?.prompt_tokens_details?.cached_tokens, 60)
  assert.equal(answer.usage?.completion_tokens_details?.reasoning_tokens, 7)
})

test('a non-streamed chat answer has the same content as a streamed one', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const answer = await clientOf(simulator).chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
  })
  assert.equal(answer.choices[0]?.message.content, FULL.text)
  assert.equal(answer.choices[0]?.message.tool_calls?.length, 2)
  assert.equal(answer.usage?.total_tokens, 120)
})

test('a chat stream has usage only if the request asks for it', async (context) => {
  const simulator = await simulatorFixture(context)
  const stream = await clientOf(simulator).chat.completions.create({
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  for await (const chunk of stream) assert.equal(chunk.usage ?? undefined, undefined)
})

test('without a rule the last message is echoed', async (context) => {
  const simulator = await simulatorFixture(context)
  const answer = await clientOf(simulator).chat.completions.create({
    model: 'm',
    messages: [
      { role: 'user', content: 'first' },
      { role: 'user', content: [{ type: 'text', text: 'second' }] },
    ],
  })
  assert.match(answer.choices[0]?.message.content ?? '', /You said: second/)
})

test('the OpenAI SDK reads a streamed Responses answer: text, parallel calls, usage and encrypted reasoning', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const stream = clientOf(simulator).responses.stream({ model: 'm', input: 'Hello' })
  let last = -1
  for await (const event of stream) {
    assert.equal(event.sequence_number, last + 1)
    last = event.sequence_number
  }
  const answer = await stream.finalResponse()
  assert.equal(answer.status, 'completed')
  assert.equal(answer.output_text, FULL.text)
  assert.deepEqual(
    answer.output.flatMap((item) => (item.type === 'function_call' ? [[item.call_id, item.name, item.arguments]] : [])),
    [
      ['call_1_1', 'forecast', '{"city":"Bergen","days":3}'],
      ['call_1_2', 'clock', '{}'],
    ],
  )
  const reasoning = answer.output.find((item) => item.type === 'reasoning')
  assert.equal(reasoning?.encrypted_content, 'gAAAA')
  assert.equal(reasoning?.summary[0]?.text, FULL.reasoning?.text)
  assert.equal(answer.usage?.input_tokens_details.cached_tokens, 60)
  assert.equal(answer.usage?.output_tokens_details.reasoning_tokens, 7)
})

test('a non-streamed Responses answer cut by its length is incomplete', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { text: 'Half a sen', finish: 'length' } }] })
  const answer = await clientOf(simulator).responses.create({ model: 'm', input: 'Hello' })
  assert.equal(answer.status, 'incomplete')
  assert.equal(answer.incomplete_details?.reason, 'max_output_tokens')
  assert.equal(answer.output_text, 'Half a sen')
})

test('refusals use the field of the vendor', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { refusal: 'I will not.' } }] })
  const client = clientOf(simulator)
  const chat = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
  assert.equal(chat.choices[0]?.message.refusal, 'I will not.')
  assert.equal(chat.choices[0]?.finish_reason, 'stop')
  const responses = await client.responses.stream({ model: 'm', input: 'x' }).finalResponse()
  const message = responses.output[0]
  assert.ok(message?.type === 'message')
  assert.ok(message.content[0]?.type === 'refusal')
  assert.equal(message.content[0].refusal, 'I will not.')
})

test('an error reaches the SDK with its status, code and headers', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [{ answer: { error: 'rate-limit-with-retry-after', retryAfterSeconds: 7 } }],
  })
  const refused = clientOf(simulator).responses.create({ model: 'm', input: 'x' })
  await assert.rejects(refused, (fault) => {
    assert.ok(fault instanceof APIError)
    assert.deepEqual([fault.status, fault.code, fault.headers?.get('retry-after')], [429, 'rate_limit_exceeded', '7'])
    return true
  })
})

test('an error inside a 200 reaches the SDK in the middle of the stream', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [
      { answer: { text: 'so far so good', breaks: { how: 'error-event', error: 'overloaded', afterChunks: 2 } } },
    ],
  })
  const stream = await clientOf(simulator).chat.completions.create({
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  let chunks = 0
  await assert.rejects(
    async () => {
      for await (const _ of stream) chunks += 1
    },
    (fault) => fault instanceof APIError && /overloaded/.test(fault.message),
  )
  assert.equal(chunks, 2)
})

test('the model list is the one that was set', async (context) => {
  const simulator = await simulatorFixture(context, { models: ['one', 'two'] })
  const ids: string[] = []
  for await (const model of clientOf(simulator).models.list()) ids.push(model.id)
  assert.deepEqual(ids, ['one', 'two'])
})
