import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RETIRED_TOOLS } from '../../src/core/base-tools.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { history, typesIn, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const says = (message: string) => ({ calls: [{ tool: 'send_message', input: { message } }] })

/** All events of a stream, as the official client reads them. */
async function streamed(stream: AsyncIterable<unknown>): Promise<WireValue[]> {
  const events: WireValue[] = []
  for await (const event of stream) events.push(event as WireValue)
  return events
}

test('an agent that names an old built-in tool gets it, and its schema is listed', async (context) => {
  const { client } = await serveFixture(context)
  const named = RETIRED_TOOLS.filter(
    (name) => !name.startsWith('run_code') && !name.startsWith('web') && name !== 'fetch_webpage',
  )
  const agent = await client.agents.create({ model: MODEL, tools: [...named] })
  assert.equal(agent.metadata?.missing_tools, undefined)
  assert.deepEqual(
    named.filter((name) => !agent.tools.some((one) => one.name === name)),
    [],
  )
  const run = (name: string, args: object) =>
    client.post<WireValue>(`/v1/agents/${agent.id}/tools/${name}/run`, { body: { args } })
  assert.match((await run('open_files', { file_requests: [{ file_name: 'a.txt' }] })).func_return, /There are no files/)
  assert.match((await run('grep_files', { pattern: 'x' })).func_return, /No matches\. There are no files/)
  const sent = await run('send_message_to_agent_async', { message: 'hi', other_agent_id: 'agent-1' })
  assert.match(sent.func_return, /was not sent: this server cannot pass messages between agents yet/)
  assert.deepEqual(
    (await run('memory', { command: 'create', path: 'x', description: 'd', file_text: 'v' })).status,
    'success',
  )
  assert.equal((await client.agents.blocks.retrieve('x', { agent_id: agent.id })).value, 'v')
})

test('what a memgpt_agent says with send_message is an assistant message in every mode, and ends its turn', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    tools: [tool('current_time')],
    script: [
      { reasoning: 'Hm.', ...says('Hello there.') },
      {
        text: 'One.',
        calls: [
          { tool: 'send_message', input: { message: 'Two.' } },
          { tool: 'current_time', input: {} },
        ],
      },
      { calls: [{ tool: 'send_message', input: { message: 'Three.' } }] },
      says('Four.'),
    ],
  })
  const agent = await client.agents.create({ model: MODEL, agent_type: 'memgpt_agent', tools: ['current_time'] })
  assert.ok(agent.tools.some(({ name }) => name === 'core_memory_append'))
  assert.deepEqual(
    agent.tool_rules?.map(({ type, tool_name }) => [type, tool_name]),
    [['exit_loop', 'send_message']],
  )
  const input = { messages: [{ role: 'user' as const, content: 'Hi' }] }
  const whole = await client.agents.messages.create(agent.id, input)
  assert.deepEqual(
    whole.messages.map((one: WireValue) => [one.message_type, one.content ?? one.reasoning]),
    [
      ['reasoning_message', 'Hm.'],
      ['assistant_message', 'Hello there.'],
    ],
  )
  assert.equal(whole.stop_reason.stop_reason, 'tool_rule')
  const free = await client.agents.create({ model: MODEL, agent_type: 'memgpt_agent', include_base_tool_rules: false })
  assert.deepEqual(free.tool_rules, [])
  for (const stream_tokens of [false, true]) {
    const events = await streamed(
      await client.agents.messages.stream(agent.id, { ...input, streaming: true, stream_tokens }),
    )
    const shown = events.filter(({ message_type }) => /assistant|tool/.test(message_type))
    const runId = shown[0].run_id
    const listed: WireValue[] = (await client.runs.messages.list(runId)).getPaginatedItems()
    const said = listed.filter(({ message_type }) => message_type === 'assistant_message').toReversed()
    const inStream = shown.filter(({ message_type }) => message_type === 'assistant_message')
    assert.deepEqual(
      inStream.map(({ content, otid, id }) => [content, otid, id]),
      said.map(({ content, otid, id }) => [content, otid, id]),
      `stream_tokens ${stream_tokens}`,
    )
    assert.ok(!JSON.stringify(events).includes('Sent message successfully'))
  }
  const types = typesIn(await history(client, agent.id, { use_assistant_message: false }))
  assert.ok(types.includes('tool_return_message'))
  assert.deepEqual(fixture.faults, [])
})

test('an own tool with the name of an old built-in tool stays what it is', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    tools: [tool('send_message')],
    script: [{ calls: [{ tool: 'send_message', input: { message: 'to the team' } }] }, { text: 'Sent.' }],
  })
  await fixture.ask('send it')
  assert.deepEqual(typesIn(await history(client, fixture.agent.id)), [
    'user_message',
    'tool_call_message',
    'tool_return_message',
    'assistant_message',
  ])
  const stored = { source_code: 'def memory(a: int) -> str:\n    """Own.\n\n    Args:\n        a (int): a\n    """\n' }
  await assert.rejects(client.tools.create(stored), /The name memory is used by a built-in tool/)
})
