import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Script } from '../../src/providers/scripted/script.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { history, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const call = (name: string) => ({ calls: [{ tool: name, input: {} }] })
const tools = ['plan', 'search', 'write'].map((name) => tool(name, () => success(`${name} done`)))

test('tool rules decide in each step which tools the model can call and whether it must call one', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    tools,
    script: [call('plan'), call('search'), call('write'), { text: 'Done.' }],
  })
  const tool_rules = [
    { type: 'run_first', tool_name: 'plan' },
    { type: 'constrain_child_tools', tool_name: 'plan', children: ['search'] },
    { type: 'max_count_per_step', tool_name: 'search', max_count_limit: 1 },
  ]
  const agent = await client.agents.create({
    model: MODEL,
    tools: ['plan', 'search', 'write'],
    include_base_tools: false,
    tool_rules: tool_rules as never,
  })
  const reply = (await client.agents.messages.create(agent.id, { input: 'Go' })) as WireValue
  assert.equal(reply.stop_reason.stop_reason, 'end_turn')
  assert.deepEqual(
    fixture.requests.map((request) => [request.tools.map(({ name }) => name).join(' '), request.mustCall ?? false]),
    [
      ['plan', true],
      ['search', true],
      ['plan write', false],
      ['plan write', false],
    ],
  )
})

test('a call against the rules does not run, and the error tells the model which tools it can call', async (context) => {
  const ran: string[] = []
  const counted = ['plan', 'write'].map((name) =>
    tool(name, () => {
      ran.push(name)
      return success('done')
    }),
  )
  const { client, fixture } = await serveFixture(context, {
    tools: counted,
    script: [{ calls: [call('write').calls[0]!, call('plan').calls[0]!, call('write').calls[0]!] }, { text: 'Done.' }],
  })
  const agent = await client.agents.create({
    model: MODEL,
    tools: ['plan', 'write'],
    include_base_tools: false,
    tool_rules: [{ type: 'run_first', tool_name: 'plan' }] as never,
  })
  await client.agents.messages.create(agent.id, { input: 'Go' })
  assert.deepEqual(ran, ['plan', 'write'])
  const messages = JSON.stringify(await history(client, agent.id))
  assert.match(messages, /\[ToolConstraintError\] Cannot call write, valid tools include: \[plan\]/)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a turn does not end before the required tools were called; a model that never calls them is stopped', async (context) => {
  const answers: Script[number][] = [
    { text: 'I am done.' },
    call('write'),
    { text: 'Now I am.' },
    { text: 'No.' },
    { text: 'No.' },
    { text: 'No.' },
    { text: 'Never asked for.' },
  ]
  // The script counts from the last message, and the reminder is a message, too.
  const script = () => Array.from<Script[number]>({ length: 4 }).fill(answers.shift()!)
  const { client, fixture } = await serveFixture(context, { tools, script })
  const agent = await client.agents.create({
    model: MODEL,
    tools: ['write'],
    include_base_tools: false,
    tool_rules: [
      { type: 'required_before_exit', tool_name: 'write' },
      // A rule for a tool that the agent does not have is ignored: the turn could never end.
      { type: 'required_before_exit', tool_name: 'fly' },
    ] as never,
  })
  const reply = (await client.agents.messages.create(agent.id, { input: 'Go' })) as WireValue
  assert.equal(reply.stop_reason.stop_reason, 'end_turn')
  assert.match(JSON.stringify(fixture.requests[1]!.messages.at(-1)), /call write before you end/)
  assert.ok(
    !JSON.stringify(await history(client, agent.id)).includes('before you end'),
    'the reminder is in no history',
  )
  const run = (await client.agents.messages.createAsync(agent.id, { input: 'Again' })) as WireValue
  let ended = await client.runs.retrieve(run.id)
  while (!ended.completed_at) ended = await client.runs.retrieve(run.id)
  assert.equal(ended.stop_reason, 'invalid_tool_call')
  assert.equal(fixture.requests.length, 6)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a rule without a required field is refused, and the error names the field', async (context) => {
  const { client, fetch } = await serveFixture(context, { tools })
  const before = (await client.agents.list()).getPaginatedItems().length
  const bad = [
    { type: 'constrain_child_tools', tool_name: 'plan' },
    { type: 'max_count_per_step', tool_name: 'plan', max_count_limit: 0 },
    { type: 'conditional', tool_name: 'plan', child_output_mapping: 'x' },
    { type: 'no_such_rule', tool_name: 'plan' },
  ]
  for (const rule of bad) {
    const { status, body } = await fetch('POST', '/v1/agents/', { model: MODEL, tool_rules: [rule] })
    assert.equal(status, 422, rule.type)
    assert.match(JSON.stringify(body), /tool_rules/)
  }
  assert.equal((await client.agents.list()).getPaginatedItems().length, before)
})

test('arguments that a rule sets replace those of the model in the first call and in the call that follows', async (context) => {
  const inputs: [string, unknown][] = []
  const schema = { type: 'object', properties: { query: { type: 'string' }, limit: { type: 'integer' } } }
  const recording = ['plan', 'search'].map((name) => ({
    ...tool(name, (input) => {
      inputs.push([name, input])
      return success('done')
    }),
    inputSchema: schema,
  }))
  const { client } = await serveFixture(context, {
    tools: recording,
    script: [
      { calls: [{ tool: 'plan', input: { query: 'of the model', limit: 1 } }] },
      { calls: [{ tool: 'search', input: { query: 'of the model', limit: 2 } }] },
      {
        calls: [
          { tool: 'plan', input: { query: 'later' } },
          { tool: 'search', input: {} },
        ],
      },
      { text: 'Done.' },
    ],
  })
  const agent = await client.agents.create({
    model: MODEL,
    tools: ['plan', 'search'],
    include_base_tools: false,
    tool_rules: [
      { type: 'run_first', tool_name: 'plan', args: { query: 'of the rule' } },
      {
        type: 'constrain_child_tools',
        tool_name: 'plan',
        children: ['search'],
        child_arg_nodes: [{ name: 'search', args: { limit: 9 } }],
      },
    ],
  })
  const reply = (await client.agents.messages.create(agent.id, { input: 'Go' })) as WireValue
  assert.equal(reply.stop_reason.stop_reason, 'end_turn')
  assert.deepEqual(inputs, [
    ['plan', { query: 'of the rule', limit: 1 }],
    ['search', { query: 'of the model', limit: 9 }],
    ['plan', { query: 'later' }],
    ['search', { limit: 9 }],
  ])
  const shown = (await history(client, agent.id)).find(({ tool_call }) => tool_call?.name === 'plan')
  assert.deepEqual(JSON.parse(shown!.tool_call.arguments), { query: 'of the rule', limit: 1 })
})
