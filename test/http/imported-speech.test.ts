import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { history, typesIn, type WireValue } from './send-modes.ts'

const FILE = readFileSync(new URL('agent-files/long.af', import.meta.url), 'utf8')
const uploaded = () => new File([FILE], 'agent.af', { type: 'application/json' })

test('what an imported agent said with send_message is shown as assistant messages, on every list', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const [id] = (await client.agents.importFile({ file: uploaded(), model: 'test/model' })).agent_ids
  const shown = await history(client, id!)
  assert.deepEqual(typesIn(shown), ['assistant_message'])
  assert.equal(shown[0].content, 'Text 10.')
  const [conversation]: WireValue[] = (await fetch('GET', `/v1/conversations/?agent_id=${id}`)).body
  const lists = [
    `/v1/conversations/${conversation?.id ?? 'default'}/messages?agent_id=${id}`,
    '/v1/messages',
    `/v1/messages/${shown[0].id}`,
  ]
  for (const path of lists) {
    const listed: WireValue[] = (await fetch('GET', path)).body
    const spoken = listed.filter(({ message_type }) => message_type !== 'system_message')
    assert.deepEqual(typesIn(spoken), ['assistant_message'], path)
    assert.equal(spoken[0].otid, shown[0].otid)
  }
  const filtered = await history(client, id!, { include_return_message_types: ['assistant_message'] })
  assert.equal(filtered.length, 1)
})

test('use_assistant_message false shows the calls and their results, and the names of tool and argument can be chosen', async (context) => {
  const { client } = await serveFixture(context)
  const [id] = (await client.agents.importFile({ file: uploaded(), model: 'test/model' })).agent_ids
  const whole = ['tool_call_message', 'tool_return_message']
  assert.deepEqual(typesIn(await history(client, id!, { use_assistant_message: false })), whole)
  assert.deepEqual(typesIn(await history(client, id!, { assistant_message_tool_name: 'say' })), whole)
  assert.deepEqual(typesIn(await history(client, id!, { assistant_message_tool_kwarg: 'words' })), whole)
})

test('a tool of today that is named send_message stays a tool call, unless the list asks for it', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    tools: [tool('send_message')],
    script: [
      { text: 'Sending.', calls: [{ tool: 'send_message', input: { message: 'to the team' } }] },
      { text: 'Sent.' },
    ],
  })
  const run = await fixture.ask('send it')
  const plain = ['user_message', 'assistant_message', 'tool_call_message', 'tool_return_message', 'assistant_message']
  assert.deepEqual(typesIn(await history(client, fixture.agent.id)), plain)
  const spoken = await history(client, fixture.agent.id, { use_assistant_message: true })
  assert.deepEqual(typesIn(spoken), ['user_message', 'assistant_message', 'assistant_message', 'assistant_message'])
  assert.equal(spoken[2].content, 'to the team')
  assert.notEqual(spoken[1].otid, spoken[2].otid)
  const listed: WireValue[] = (
    await client.runs.messages.list(run.id, { use_assistant_message: true } as never)
  ).getPaginatedItems()
  assert.equal(listed.filter(({ message_type }) => message_type === 'assistant_message').length, 3)
})
