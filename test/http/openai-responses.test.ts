import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import type OpenAI from 'openai'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { rollDice } from '../../src/tools/demo/dice.ts'
import { sendPostcard } from '../../src/tools/demo/postcard.ts'
import { all, CLIENTS, serveOpenai } from './openai-clients.ts'

const MODEL = 'agent:ada'
const tools = () => [rollDice({ randomness: realRandomness }), sendPostcard({ clock: realClock, home: tmpdir() })]
const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather in a city',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

for (const [version, Client] of Object.entries(CLIENTS)) {
  test(`${version}: a response is a turn, and the next one continues from it`, async (context) => {
    const { openai, simulator, sent, system } = await serveOpenai(context)
    simulator.script({ when: { attempt: 1 }, answer: { text: 'One.' } }, { answer: { text: 'Two.' } })
    const client = openai(Client)
    const first = await client.responses.create({
      model: MODEL,
      input: 'First',
      instructions: 'Be brief.',
      metadata: { topic: 'demo' },
    })
    assert.equal(first.output_text, 'One.')
    assert.equal(first.status, 'completed')
    assert.deepEqual(first.metadata, { topic: 'demo' })
    assert.match(system(), /Be brief\.$/)
    const second = await client.responses.create({ model: MODEL, input: 'Second', previous_response_id: first.id })
    assert.equal(second.previous_response_id, first.id)
    assert.deepEqual(sent(), ['user: First', 'assistant: One.', 'user: Second'])
    assert.doesNotMatch(system(), /Be brief/, 'instructions are for one response')
    const branch = await client.responses.create({ model: MODEL, input: 'Third', previous_response_id: first.id })
    assert.deepEqual(sent(), ['user: First', 'assistant: One.', 'user: Third'])
    assert.notEqual(branch.conversation?.id, first.conversation?.id)
    const again = await client.responses.retrieve(second.id)
    assert.deepEqual(again.output, second.output)
    assert.ok(again.usage!.total_tokens > 0)
  })

  test(`${version}: the events of a stream are those of OpenAI, and their sum is the response`, async (context) => {
    const { openai, simulator } = await serveOpenai(context, tools())
    simulator.script(
      {
        when: { attempt: 1 },
        answer: { reasoning: { text: 'Dice.' }, calls: [{ name: 'roll_dice', arguments: { sides: 6 } }] },
      },
      { answer: { text: 'You rolled.' } },
    )
    const client = openai(Client)
    const events = await all(await client.responses.create({ model: MODEL, input: 'Roll', stream: true }))
    const types = [...new Set(events.map(({ type }) => type))]
    for (const type of [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.mcp_call.in_progress',
      'response.mcp_call.completed',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
      assert.ok(types.includes(type as never), `${type} is missing in ${types.join(', ')}`)
    const numbers = events.map(({ sequence_number }) => sequence_number)
    assert.ok(
      numbers.every((number, index) => index === 0 || number > numbers[index - 1]!),
      'numbers rise',
    )
    const last = events.at(-1)!
    assert.ok(last.type === 'response.completed')
    assert.deepEqual(
      last.response.output.map(({ type }) => type),
      ['reasoning', 'mcp_call', 'message'],
    )
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    assert.deepEqual(done, last.response.output)
    assert.deepEqual((await client.responses.retrieve(last.response.id)).output, last.response.output)
    const built = await client.responses.stream({ model: MODEL, input: 'Again' }).finalResponse()
    assert.equal(built.output_text, 'You rolled.')
  })

  test(`${version}: a function is called by the caller, and its output continues the turn`, async (context) => {
    const { openai, simulator, sent } = await serveOpenai(context)
    simulator.script(
      { when: { attempt: 1 }, answer: { calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] } },
      { answer: { text: 'Snow.' } },
    )
    const client = openai(Client)
    const first = await client.responses.create({ model: MODEL, input: 'Weather?', tools: [WEATHER] })
    const [call] = first.output
    assert.ok(call?.type === 'function_call')
    assert.deepEqual(JSON.parse(call.arguments), { city: 'Oslo' })
    await assert.rejects(
      client.responses.create({
        model: MODEL,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: 'call_other', output: 'x' }],
      }),
      (fault: { status: number }) => fault.status === 400,
    )
    const second = await client.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      tools: [WEATHER],
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'snow' }],
    })
    assert.equal(second.output_text, 'Snow.')
    assert.match(sent().at(-1)!, /tool: snow/)
    const items = await all(client.responses.inputItems.list(second.id))
    assert.deepEqual(
      items.map(({ type }) => type),
      ['function_call_output'],
    )
  })

  test(`${version}: the whole history with the calls is recognized without a conversation`, async (context) => {
    const { openai, simulator, sent } = await serveOpenai(context)
    simulator.script(
      { when: { attempt: 1 }, answer: { calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] } },
      { answer: { text: 'Snow.' } },
    )
    const client = openai(Client)
    const input: object[] = [{ role: 'user', content: 'Weather?' }]
    const first = await client.responses.create({ model: MODEL, input: input as never, tools: [WEATHER] })
    input.push(...first.output)
    const [call] = first.output
    assert.ok(call?.type === 'function_call')
    input.push({ type: 'function_call_output', call_id: call.call_id, output: 'snow' })
    const second = await client.responses.create({ model: MODEL, input: input as never, tools: [WEATHER] })
    assert.equal(second.output_text, 'Snow.')
    assert.equal(sent().length, 3)
  })

  test(`${version}: a response in the background is read, streamed from any number, and cancelled`, async (context) => {
    const { openai, simulator } = await serveOpenai(context)
    simulator.script(
      { when: { attempt: 1 }, answer: { text: 'A long answer in pieces.', pace: { charactersPerChunk: 3 } } },
      { answer: { text: 'Never ends.', pace: { beforeFirstChunkMs: 600_000 } } },
    )
    const client = openai(Client)
    const started = await client.responses.create({ model: MODEL, input: 'Work', background: true })
    assert.ok(['queued', 'in_progress', 'completed'].includes(started.status!))
    const events = await all(await client.responses.retrieve(started.id, { stream: true }))
    assert.equal(events.at(-1)?.type, 'response.completed')
    for (const { sequence_number: after } of events) {
      const rest = await all(await client.responses.retrieve(started.id, { stream: true, starting_after: after }))
      const expected = events.filter(({ sequence_number }) => sequence_number > after)
      // A reader at the end still learns how the response ended.
      assert.deepEqual(rest, expected.length > 0 ? expected : [events.at(-1)], `after ${after}`)
    }
    const endless = await client.responses.create({ model: MODEL, input: 'Wait', background: true })
    const cancelled = await client.responses.cancel(endless.id)
    assert.equal(cancelled.status, 'cancelled')
    await client.responses.delete(started.id)
    await assert.rejects(client.responses.retrieve(started.id), (fault: { status: number }) => fault.status === 404)
  })

  test(`${version}: conversations keep what was said, and begin with what they were given`, async (context) => {
    const { openai, simulator, sent } = await serveOpenai(context)
    simulator.script({ answer: { text: 'Yes.' } })
    const client = openai(Client)
    const made = await client.conversations.create({
      metadata: { topic: 'demo' },
      items: [{ type: 'message', role: 'user', content: 'I am Bo.' }],
    })
    assert.deepEqual((await client.conversations.retrieve(made.id)).metadata, { topic: 'demo' })
    assert.equal((await all(client.conversations.items.list(made.id))).length, 1)
    await client.responses.create({ model: MODEL, input: 'Who am I?', conversation: made.id })
    assert.deepEqual(sent(), ['user: I am Bo.', 'user: Who am I?'])
    await client.responses.create({ model: MODEL, input: 'Sure?', conversation: { id: made.id } })
    assert.equal(sent().length, 4)
    const items = await all(client.conversations.items.list(made.id, { order: 'asc', limit: 2 }))
    assert.equal(items.length, 5)
    assert.equal(
      (await client.conversations.items.retrieve(items[0]!.id!, { conversation_id: made.id })).id,
      items[0]!.id,
    )
    const renamed = await client.conversations.update(made.id, { metadata: { topic: 'other' } })
    assert.deepEqual(renamed.metadata, { topic: 'other' })
    await client.conversations.delete(made.id)
    await assert.rejects(client.conversations.retrieve(made.id), (fault: { status: number }) => fault.status === 404)
  })

  test(`${version}: structured output of a response is parsed by the client`, async (context) => {
    const { openai, simulator } = await serveOpenai(context)
    simulator.script({ answer: { text: '{"city":"Oslo"}' } })
    const response = await openai(Client).responses.parse({
      model: MODEL,
      input: 'Where?',
      text: {
        format: {
          type: 'json_schema',
          name: 'place',
          schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    })
    assert.deepEqual(JSON.parse(response.output_text), { city: 'Oslo' })
  })
}

test('unknown responses and unsupported parameters are named', async (context) => {
  const { openai } = await serveOpenai(context)
  const ask = (more: object) => openai().responses.create({ model: MODEL, input: 'x', ...more } as never)
  const unknown = `resp_${crypto.randomUUID()}`
  await assert.rejects(
    ask({ previous_response_id: unknown }),
    (fault: { status: number; code: string; param: string }) =>
      fault.status === 404 && fault.code === 'previous_response_not_found' && fault.param === 'previous_response_id',
  )
  for (const [name, value] of Object.entries({
    max_tool_calls: 3,
    prompt: { id: 'p' },
    tools: [{ type: 'web_search' }],
    tool_choice: 'required',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }],
  }))
    await assert.rejects(
      ask({ [name]: value }),
      (fault: { status: number; param: string }) => fault.status === 400 && fault.param.startsWith(name),
      name,
    )
  await assert.rejects(ask({ previous_response_id: unknown, conversation: 'x' }), /either `conversation` or/)
})

test('settings of a response reach the model', async (context) => {
  const { openai, simulator, received } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  await openai().responses.create({
    model: MODEL,
    input: 'x',
    max_output_tokens: 55,
    reasoning: { effort: 'low' },
    text: { verbosity: 'high' },
  })
  assert.equal(received().max_completion_tokens ?? received().max_tokens, 55)
  assert.equal(received().reasoning_effort, 'low')
  assert.equal(received().verbosity, 'high')
})

test('with `on_guarded: ask` a call waits as an approval request, and is answered as one', async (context) => {
  const { openai, simulator, sent } = await serveOpenai(context, tools())
  simulator.script(
    { when: { attempt: 1 }, answer: { calls: [{ name: 'send_postcard', arguments: { to: 'Bo', message: 'Hi' } }] } },
    { answer: { text: 'Not sent.' } },
  )
  const client = openai()
  const asked = await client.responses.create({ model: MODEL, input: 'Write to Bo', on_guarded: 'ask' } as never)
  const response = asked as unknown as OpenAI.Responses.Response
  const [request] = response.output
  assert.ok(request?.type === 'mcp_approval_request')
  const answered = await client.responses.create({
    model: MODEL,
    previous_response_id: response.id,
    input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: false }],
  })
  assert.equal(answered.output_text, 'Not sent.')
  assert.match(sent().at(-1)!, /declined/)
})

test('a caller that forgets its open calls goes on: they end without a result', async (context) => {
  const { openai, simulator, sent } = await serveOpenai(context)
  simulator.script(
    { when: { attempt: 1 }, answer: { calls: [{ name: 'get_weather', arguments: {} }] } },
    { answer: { text: 'Fine.' } },
  )
  const client = openai()
  await client.responses.create({ model: MODEL, input: 'Weather?', tools: [WEATHER], conversation: 'w' })
  const next = await client.responses.create({ model: MODEL, input: 'Never mind', conversation: 'w' })
  assert.equal(next.output_text, 'Fine.')
  assert.match(sent().at(-2)!, /sent no result/)
  assert.equal(sent().at(-1), 'user: Never mind')
})

test('a failed attempt in the middle of a text leaves an incomplete item and no trace in the response', async (context) => {
  const { openai, simulator } = await serveOpenai(context)
  simulator.script(
    {
      when: { attempt: 1 },
      answer: {
        text: 'Lost words that break off',
        pace: { charactersPerChunk: 5 },
        breaks: { how: 'cut', afterChunks: 3 },
      },
    },
    { answer: { text: 'Whole.' } },
  )
  const events = await all(await openai().responses.create({ model: MODEL, input: 'x', stream: true }))
  const last = events.at(-1)!
  assert.ok(last.type === 'response.completed', last.type)
  assert.equal(last.response.output_text, 'Whole.')
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
  assert.deepEqual(
    done.map((item) => ('status' in item ? item.status : undefined)),
    ['incomplete', 'completed'],
  )
})

test('embeddings come from the configured model, in both encodings; token lists and other models are refused', async (context) => {
  const { openai, fixture } = await serveOpenai(context)
  const embedder = fixture.context.embeddings
  await assert.rejects(
    openai().embeddings.create({ model: 'house/near', input: 'x' }),
    (fault: { status: number; code: string }) => fault.status === 404 && fault.code === 'model_not_found',
  )
  Object.assign(embedder, {
    defaultModel: 'house/near',
    embedder: {
      serves: () => true,
      dimensionsOf: () => 2,
      embed: async (_: unknown, texts: readonly string[]) =>
        texts.includes('broken')
          ? { type: 'failure', failure: { kind: 'timeout', detail: 'too slow' } }
          : { type: 'vectors', vectors: texts.map((text) => [text.length, 0.5]) },
    },
  })
  const both = await openai().embeddings.create({ model: 'near', input: ['ab', 'abc'] })
  assert.deepEqual(
    both.data.map(({ embedding }) => [...embedding]),
    [
      [2, 0.5],
      [3, 0.5],
    ],
  )
  const floats = await openai().embeddings.create({ model: 'near', input: 'abcd', encoding_format: 'float' })
  assert.deepEqual(floats.data[0]?.embedding, [4, 0.5])
  await assert.rejects(openai().embeddings.create({ model: 'near', input: [1, 2] }), /tokens are not supported/)
  await assert.rejects(
    openai().embeddings.create({ model: 'near', input: 'broken' }),
    (fault: { status: number; message: string }) => fault.status === 502 && fault.message.includes('too slow'),
  )
})
