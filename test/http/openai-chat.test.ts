import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { rollDice } from '../../src/tools/demo/dice.ts'
import { sendPostcard } from '../../src/tools/demo/postcard.ts'
import { all, CLIENTS, serveOpenai } from './openai-clients.ts'

const MODEL = 'agent:ada'
const user = (content: string) => ({ role: 'user' as const, content })
const assistant = (content: string) => ({ role: 'assistant' as const, content })

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

for (const [version, Client] of Object.entries(CLIENTS)) {
  test(`${version}: a chat completion is a turn of the agent`, async (context) => {
    const { openai, simulator } = await serveOpenai(context)
    simulator.script({ answer: { text: 'Hello you.' } })
    const completion = await openai(Client).chat.completions.create({ model: MODEL, messages: [user('Hello')] })
    assert.equal(completion.choices[0]?.message.content, 'Hello you.')
    assert.equal(completion.choices[0]?.finish_reason, 'stop')
    assert.equal(completion.object, 'chat.completion')
    assert.ok(completion.usage!.total_tokens > 0)
  })

  test(`${version}: a stream has the text in pieces, and the usage if it was asked for`, async (context) => {
    const { openai, simulator } = await serveOpenai(context)
    simulator.script({ answer: { text: 'One two three four.' } })
    const stream = await openai(Client).chat.completions.create({
      model: MODEL,
      messages: [user('Count')],
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = await all(stream)
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'One two three four.')
    assert.ok(chunks.filter(({ choices }) => choices[0]?.delta.content).length > 1, 'the text came in pieces')
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'stop')
    assert.ok(chunks.at(-1)!.usage!.completion_tokens > 0)
  })

  test(`${version}: the caller runs its own tool; the result finds the call without naming a conversation`, async (context) => {
    const { openai, simulator, sent } = await serveOpenai(context)
    simulator.script(
      { when: { attempt: 1 }, answer: { calls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] } },
      { answer: { text: 'Sunny.' } },
    )
    const client = openai(Client)
    const messages = [user('Weather in Paris?')]
    const first = await client.chat.completions.create({ model: MODEL, messages, tools: [WEATHER] })
    const [choice] = first.choices
    assert.equal(choice?.finish_reason, 'tool_calls')
    const [call] = choice!.message.tool_calls!
    assert.deepEqual(call!.type === 'function' && JSON.parse(call!.function.arguments), { city: 'Paris' })
    const second = await client.chat.completions.create({
      model: MODEL,
      messages: [...messages, choice!.message, { role: 'tool', tool_call_id: call!.id, content: '22 degrees' }],
      tools: [WEATHER],
    })
    assert.equal(second.choices[0]?.message.content, 'Sunny.')
    assert.deepEqual(
      sent().map((text) => text.split(':')[0]),
      ['user', 'assistant', 'tool'],
    )
    assert.match(sent().at(-1)!, /22 degrees/)
  })

  test(`${version}: the tool loop of the client runs to its end, streamed`, async (context) => {
    const { openai, simulator } = await serveOpenai(context)
    simulator.script(
      { when: { attempt: 1 }, answer: { calls: [{ name: 'get_weather', arguments: { city: 'Rome' } }] } },
      { answer: { text: 'Rain in Rome.' } },
    )
    const asked: string[] = []
    const runner = openai(Client).chat.completions.runTools({
      model: MODEL,
      stream: true,
      messages: [user('Weather?')],
      tools: [
        {
          type: 'function',
          function: {
            ...WEATHER.function,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              asked.push(city)
              return 'rain'
            },
          },
        },
      ],
    })
    assert.equal(await runner.finalContent(), 'Rain in Rome.')
    assert.deepEqual(asked, ['Rome'])
  })

  test(`${version}: structured output reaches the model as a schema`, async (context) => {
    const { openai, simulator, received } = await serveOpenai(context)
    simulator.script({ answer: { text: '{"name":"Ada","age":36}' } })
    const completion = await openai(Client).chat.completions.parse({
      model: MODEL,
      messages: [user('Who?')],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'person',
          strict: true,
          schema: {
            type: 'object',
            properties: { name: { type: 'string' }, age: { type: 'number' } },
            required: ['name', 'age'],
            additionalProperties: false,
          },
        },
      },
    })
    assert.deepEqual(JSON.parse(completion.choices[0]!.message.content!), { name: 'Ada', age: 36 })
    const format = received().response_format as { json_schema: { name: string } }
    assert.equal(format.json_schema.name, 'person')
  })

  test(`${version}: errors are those of OpenAI`, async (context) => {
    const { openai } = await serveOpenai(context)
    const client = openai(Client)
    const ask = (more: object) =>
      client.chat.completions.create({ model: MODEL, messages: [user('Hello')], ...more } as never)
    const refused = async (work: Promise<unknown>) =>
      work.then(
        () => assert.fail('it was accepted'),
        (fault: { status: number; code: string; param: string; message: string }) => fault,
      )
    const unknown = await refused(ask({ model: 'gpt-5' }))
    assert.deepEqual([unknown.status, unknown.code, unknown.param], [404, 'model_not_found', 'model'])
    for (const [name, value] of Object.entries({
      n: 2,
      logprobs: true,
      stop: ['x'],
      tool_choice: 'required',
      logit_bias: { 50256: -100 },
      presence_penalty: 1,
      audio: { voice: 'x' },
      modalities: ['audio'],
      functions: [{ name: 'f' }],
      response_format: { type: 'json_schema', json_schema: {} },
    })) {
      const fault = await refused(ask({ [name]: value }))
      assert.equal(fault.status, 400, name)
      assert.match(fault.message, new RegExp(name), name)
      assert.ok(fault.param?.startsWith(name), `${name}: ${fault.param}`)
    }
    const stranger = new Client({ baseURL: client.baseURL, apiKey: 'wrong', maxRetries: 0 })
    const unauthorized = await refused(stranger.models.list())
    assert.deepEqual([unauthorized.status, unauthorized.code], [401, 'invalid_api_key'])
    const nowhere = await refused(client.get('/nothing'))
    assert.deepEqual([nowhere.status, nowhere.code], [404, 'not_found'])
  })

  test(`${version}: an agent is a model, by name and by id, and once more without memory`, async (context) => {
    const { openai, agent, client, simulator } = await serveOpenai(context)
    const models = await all(openai(Client).models.list())
    const ids = models.map(({ id }) => id)
    assert.ok(ids.includes('agent:ada') && ids.includes('agent:ada/once'))
    assert.equal((await openai(Client).models.retrieve('agent:ada/once')).id, 'agent:ada/once')
    await client.agents.create({ name: 'ada', model: 'chat/model', include_base_tools: false })
    const shared = (await all(openai(Client).models.list())).map(({ id }) => id)
    assert.ok(shared.includes(agent.id) && !shared.includes('agent:ada'), 'agents that share a name have their ids')
    await assert.rejects(
      openai(Client).chat.completions.create({ model: MODEL, messages: [user('x')] }),
      /Several agents are named "ada"/,
    )
    simulator.script({ answer: { text: 'By id.' } })
    const byId = await openai(Client).chat.completions.create({ model: agent.id, messages: [user('x')] })
    assert.equal(byId.choices[0]?.message.content, 'By id.')
  })
}

test('the conversation of a name continues, and only the new tail of the messages is taken', async (context) => {
  const { openai, simulator, sent } = await serveOpenai(context)
  simulator.script({ when: { attempt: 1 }, answer: { text: 'One.' } }, { answer: { text: 'Two.' } })
  const ask = (messages: { role: 'user' | 'assistant'; content: string }[], name = 'thread') =>
    openai(undefined, { 'x-holdfast-conversation': name }).chat.completions.create({ model: MODEL, messages })
  await ask([user('First')])
  await ask([user('First'), assistant('One.'), user('Second')])
  assert.deepEqual(sent(), ['user: First', 'assistant: One.', 'user: Second'])
  await ask([user('Third')])
  assert.deepEqual(sent().at(-1), 'user: Third')
  assert.equal(sent().length, 5)
  const { response } = await openai(undefined, { 'x-holdfast-conversation': 'other' })
    .chat.completions.create({ model: MODEL, messages: [user('Elsewhere')] })
    .withResponse()
  assert.deepEqual(sent(), ['user: Elsewhere'])
  await ask([user('By id')], response.headers.get('x-holdfast-conversation')!)
  assert.deepEqual(sent(), ['user: Elsewhere', 'assistant: Two.', 'user: By id'])
})

test('`user` names a conversation, a request that names nothing opens a fresh one with its whole history', async (context) => {
  const { openai, simulator, sent } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const client = openai()
  await client.chat.completions.create({ model: MODEL, messages: [user('A')], user: 'anna' })
  await client.chat.completions.create({ model: MODEL, messages: [user('B')], user: 'anna' })
  assert.deepEqual(sent(), ['user: A', 'assistant: Yes.', 'user: B'])
  await client.chat.completions.create({ model: MODEL, messages: [user('Q'), assistant('R'), user('S')] })
  assert.deepEqual(sent(), ['user: Q', 'assistant: R', 'user: S'])
})

test('messages that do not match what is kept are refused with their place, and nothing is lost', async (context) => {
  const { openai, simulator, sent, client, agent } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const ask = (messages: { role: 'user' | 'assistant'; content: string }[]) =>
    openai().chat.completions.create({ model: MODEL, messages, user: 'anna' })
  await ask([user('A')])
  await assert.rejects(
    ask([user('X'), assistant('Y'), user('Z')]),
    (fault: { status: number; code: string; message: string }) =>
      fault.status === 400 && fault.code === 'messages_mismatch' && fault.message.includes('messages[1]'),
  )
  await ask([user('A'), assistant('Yes.'), user('B')])
  assert.deepEqual(sent(), ['user: A', 'assistant: Yes.', 'user: B'])
  assert.equal((await client.conversations.list({ agent_id: agent.id })).length, 1)
})

test('instructions of a request go behind the system prompt of this turn, in every turn that sends them', async (context) => {
  const { openai, simulator, system } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const system1 = { role: 'system' as const, content: 'Speak like a pirate.' }
  await openai().chat.completions.create({ model: MODEL, messages: [system1, user('A')], user: 'x' })
  assert.match(system(), /Speak like a pirate\.$/)
  await openai().chat.completions.create({
    model: MODEL,
    messages: [system1, user('A'), assistant('Yes.'), user('B')],
    user: 'x',
  })
  assert.match(system(), /Speak like a pirate\.$/)
  await openai().chat.completions.create({ model: MODEL, messages: [user('C')], user: 'x' })
  assert.doesNotMatch(system(), /pirate/)
})

test('calls of the agent are visible, and one that needs approval is denied, visibly on the run', async (context) => {
  const { openai, simulator, fetch } = await serveOpenai(context, [
    rollDice({ randomness: realRandomness }),
    sendPostcard({ clock: realClock, home: tmpdir() }),
  ])
  simulator.script(
    { when: { attempt: 1 }, answer: { calls: [{ name: 'roll_dice', arguments: { sides: 6 } }] } },
    { when: { attempt: 2 }, answer: { calls: [{ name: 'send_postcard', arguments: { to: 'Bo', message: 'Hi' } }] } },
    { answer: { text: 'Done.' } },
  )
  const completion = await openai().chat.completions.create({ model: MODEL, messages: [user('Play')] })
  const { holdfast } = completion as unknown as {
    holdfast: { run_id: string; tool_calls: { name: string; status: string; error: string | null }[] }
  }
  assert.deepEqual(
    holdfast.tool_calls.map(({ name, status }) => `${name} ${status}`),
    ['roll_dice completed', 'send_postcard failed'],
  )
  assert.match(holdfast.tool_calls[1]!.error!, /unattended/)
  const run = (await fetch('GET', `/v1/runs/${holdfast.run_id}`)).body as { metadata: { on_guarded: string } }
  assert.equal(run.metadata.on_guarded, 'deny')
})

test('settings of the request reach the model, and what has no effect is named in a header', async (context) => {
  const { openai, simulator, received } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const { response } = await openai()
    .chat.completions.create({
      model: MODEL,
      messages: [user('A')],
      temperature: 0.25,
      top_p: 0.5,
      max_completion_tokens: 77,
      frequency_penalty: 0.5,
      verbosity: 'low',
      tool_choice: 'none',
      seed: 3,
      unheard_of: 1,
    } as never)
    .withResponse()
  assert.equal(received().temperature, 0.25)
  assert.equal(received().top_p, 0.5)
  assert.equal(received().max_completion_tokens ?? received().max_tokens, 77)
  assert.equal(received().frequency_penalty, 0.5)
  assert.equal(received().verbosity, 'low')
  assert.equal(received().tools, undefined)
  const warnings = response.headers.get('x-holdfast-warnings') ?? ''
  assert.match(warnings, /seed:/)
  assert.match(warnings, /unheard_of:/)
})

test('images reach the model, from a data URL; other parts are refused by their place', async (context) => {
  const { openai, simulator, received } = await serveOpenai(context)
  simulator.script({ answer: { text: 'A dot.' } })
  const pixel =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const parts = [
    { type: 'text' as const, text: 'What is this?' },
    { type: 'image_url' as const, image_url: { url: pixel } },
  ]
  await openai().chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: parts }] })
  assert.ok(JSON.stringify(received()).includes(pixel))
  await assert.rejects(
    openai().chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }],
    }),
    /messages\.0\.content\.0: must be an https address/,
  )
})

test('reasoning is streamed beside the text, and a failed model is an error, in both forms', async (context) => {
  const { openai, simulator } = await serveOpenai(context)
  simulator.script(
    { when: { attempt: 1 }, answer: { reasoning: { text: 'Hm.' }, text: 'Yes.' } },
    { answer: { error: 'content-policy' } },
  )
  const chunks = await all(
    await openai().chat.completions.create({ model: MODEL, messages: [user('A')], stream: true }),
  )
  const reasoning = chunks.map(({ choices }) => choices[0]?.delta as { reasoning_content?: string } | undefined)
  assert.equal(reasoning.map((delta) => delta?.reasoning_content ?? '').join(''), 'Hm.')
  await assert.rejects(
    openai().chat.completions.create({ model: MODEL, messages: [user('B')] }),
    (fault: { status: number; error: { type: string } }) => fault.status >= 400 && typeof fault.error.type === 'string',
  )
  const stream = await openai().chat.completions.create({ model: MODEL, messages: [user('C')], stream: true })
  await assert.rejects(all(stream), (fault: { message: string }) => fault.message.length > 0)
})
