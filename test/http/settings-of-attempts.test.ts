import assert from 'node:assert/strict'
import { test } from 'node:test'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { type Body, serveDialects } from './fixture-dialects.ts'

test('a failed attempt names the settings that were not sent, like the one that answers after it', async (context) => {
  const { client, simulator, leftOut, fetch, send } = await serveDialects(context)
  simulator.script({ times: 1, answer: { error: 'overloaded' } }, { answer: { text: 'Yes.' } })
  const agent = await client.agents.create({ model: 'chat/gpt-5.1', model_settings: { temperature: 0.5 } })
  const runId = await send(agent.id)
  const attempts = (await fetch('GET', `/v1/runs/${runId}/attempts`)).body as { outcome: string }[]
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['failed', 'answered'],
  )
  const note = 'temperature: gpt-5.1 takes only 1'
  assert.deepEqual(await leftOut(runId), [note, note])
})

const look = () => tool('look', () => success('a tree'), { inputSchema: { type: 'object', properties: {} } })

for (const [model, thinking, beta] of [
  ['claude/claude-sonnet-4-5', { type: 'enabled', budget_tokens: 4_096 }, 'interleaved-thinking-2025-05-14'],
  ['claude/claude-opus-4-6', { type: 'adaptive', display: 'summarized' }, undefined],
] as const) {
  test(`the thoughts of ${model} go back with their signatures, together with the results of its calls`, async (context) => {
    const { client, simulator, send } = await serveDialects(context, { tools: [look()] })
    const reasoning = { text: 'I should look.', signature: 'signed-by-the-vendor' }
    simulator.script(
      { times: 1, answer: { reasoning, calls: [{ name: 'look', arguments: {} }] } },
      { answer: { text: 'A tree.' } },
    )
    const agent = await client.agents.create({
      model,
      tools: ['look'],
      include_base_tools: false,
      model_settings: { provider_type: 'anthropic', effort: 'low' },
    })
    await send(agent.id)
    const [first, second] = simulator.requests
    for (const request of [first!, second!]) {
      assert.deepEqual((request.body as Body).thinking, thinking)
      assert.equal(request.headers['anthropic-beta'], beta)
    }
    const [, answer, results] = (second!.body as { messages: { role: string; content: Body[] }[] }).messages
    assert.deepEqual(
      [answer!.role, answer!.content[0]],
      ['assistant', { type: 'thinking', thinking: 'I should look.', signature: 'signed-by-the-vendor' }],
    )
    assert.equal(answer!.content[1]!.type, 'tool_use')
    assert.equal(results!.content[0]!.type, 'tool_result')
  })
}

test('after a rejected signature the step goes on without thoughts and without a budget, and later turns think again', async (context) => {
  const { client, simulator, send } = await serveDialects(context, { tools: [look()] })
  const reasoning = { text: 'I should look.', signature: 'signed-by-the-vendor' }
  simulator.script(
    { when: { hasSignatures: true }, times: 1, answer: { error: 'signature-rejected' } },
    { times: 1, answer: { reasoning, calls: [{ name: 'look', arguments: {} }] } },
    { answer: { text: 'A tree.' } },
  )
  const agent = await client.agents.create({
    model: 'claude/claude-sonnet-4-5',
    tools: ['look'],
    include_base_tools: false,
    model_settings: { provider_type: 'anthropic', thinking: { type: 'enabled', budget_tokens: 2_000 } },
  })
  await send(agent.id)
  const thoughts = () =>
    simulator.requests.map(({ body }) => [
      (body as Body).thinking !== undefined,
      JSON.stringify((body as Body).messages).includes('signed-by-the-vendor'),
    ])
  assert.deepEqual(thoughts(), [
    [true, false],
    [true, true],
    [false, false],
  ])
  await send(agent.id)
  assert.deepEqual(thoughts().at(-1), [true, true], 'the stored thought is as it was')
})

test('null for an optional argument of a strict tool is an argument that was left out', async (context) => {
  const inputs: unknown[] = []
  const search = tool(
    'search',
    (input) => {
      inputs.push(input)
      return success('found')
    },
    {
      inputSchema: {
        type: 'object',
        properties: { query: { type: 'string' }, limit: { type: 'integer' }, page: { type: ['integer', 'null'] } },
        required: ['query'],
      },
    },
  )
  const { client, simulator, send } = await serveDialects(context, { tools: [search] })
  const call = { name: 'search', arguments: { query: 'tea', limit: null, page: null } }
  simulator.script({ times: 1, answer: { calls: [call] } }, { answer: { text: 'Found.' } })
  const agent = await client.agents.create({
    model: 'chat/gpt-5.1',
    tools: ['search'],
    include_base_tools: false,
    model_settings: { strict: true },
  })
  await send(agent.id)
  assert.deepEqual(inputs, [{ query: 'tea', page: null }])
  const [{ function: sent }] = (simulator.requests[0]!.body as { tools: [{ function: { parameters: Body } }] }).tools
  assert.deepEqual(sent.parameters, {
    type: 'object',
    properties: {
      query: { type: 'string' },
      limit: { type: ['integer', 'null'] },
      page: { type: ['integer', 'null'] },
    },
    required: ['query', 'limit', 'page'],
    additionalProperties: false,
  })
})

test('a tool whose arguments have free names cannot be strict, and the run says so', async (context) => {
  const open = tool('store', () => success('stored'))
  const { client, simulator, send, leftOut } = await serveDialects(context, { tools: [open, look()] })
  const agent = await client.agents.create({
    model: 'responses/gpt-5.1',
    tools: ['store', 'look'],
    include_base_tools: false,
    model_settings: { strict: true },
  })
  const runId = await send(agent.id)
  assert.deepEqual(await leftOut(runId), ['strict: the vendor cannot guarantee the schema of store'])
  const { tools } = simulator.requests[0]!.body as { tools: { name: string; strict: boolean }[] }
  assert.deepEqual(
    tools.map(({ name, strict }) => [name, strict]),
    [
      ['store', false],
      ['look', true],
    ],
  )
})
