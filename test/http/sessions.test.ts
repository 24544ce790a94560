import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import type { WireValue } from './send-modes.ts'

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

test('`leaves` of a new conversation ends the processes of the one that is left, and keeps its messages', async (t) => {
  const ended: ConversationId[] = []
  const endProcesses = async (id: ConversationId) => void ended.push(id)
  const script = scriptOf({ text: 'One.' })
  const { client, fixture, fetch } = await serveFixture(t, { script, deps: { endProcesses } })
  const { agent, conversationId } = fixture
  const create = (body: object, agentId: string = agent.id): Promise<WireValue> =>
    fetch('POST', `/v1/conversations/?agent_id=${agentId}`, body)
  const sent = await client.agents.messages.createAsync(agent.id, { input: 'go' })
  await fixture.wait(sent.id as never)
  const { status, body: second } = await create({ leaves: 'default' })
  assert.equal(status, 200)
  assert.equal('warnings' in second, false)
  await until(() => ended.length === 1)
  await create({ leaves: second.id })
  await until(() => ended.length === 2)
  assert.deepEqual(ended, [conversationId, second.id])
  assert.equal((await fixture.messages()).length, 2)

  await create({})
  const stranger = await client.agents.create({ name: 'stranger', model: 'test/model', include_base_tools: false })
  const count = async () => (await client.conversations.list({ agent_id: agent.id })).length
  const before = await count()
  assert.equal((await create({ leaves: 'conv-00000000-0000-4000-8000-000000000000' })).status, 404)
  const foreign = await create({ leaves: second.id }, stranger.id)
  assert.ok(foreign.status === 404 || foreign.status === 422, String(foreign.status))
  assert.deepEqual([await count(), ended.length], [before, 2], 'a refused request creates and ends nothing')
})

test('a conversation that waits for approval keeps its processes when it is left, and a warning says so', async (t) => {
  const ended: ConversationId[] = []
  const endProcesses = async (id: ConversationId) => void ended.push(id)
  const { client, fixture } = await serveFixture(t, {
    script: scriptOf({ calls: [{ tool: 'pay', input: {} }] }),
    tools: [tool('pay', () => success('paid'), { needsApproval: true })],
    deps: { endProcesses },
  })
  const sent = await client.agents.messages.createAsync(fixture.agent.id, { input: 'pay' })
  assert.equal((await fixture.wait(sent.id as never)).waiting, true)
  const { response } = await client.conversations
    .create({ agent_id: fixture.agent.id, leaves: 'default' } as never)
    .withResponse()
  const warnings = response.headers.get('x-holdfast-warnings') ?? ''
  assert.match(warnings, /^leaves: .* waits for approval, so its processes go on/)
  assert.deepEqual(ended, [])
})

test('when_busy, session_expiry and command_approval survive the export and the import of an agent', async (t) => {
  const { client, fetch } = await serveFixture(t, { script: [{ text: 'Hi.' }] })
  const session_expiry = { idle_minutes: 90, daily_at: '04:00', timezone: 'Europe/Berlin' }
  const { body: agent }: WireValue = await fetch('POST', '/v1/agents/', {
    name: 'ada',
    model: 'test/model',
    when_busy: 'steer',
    session_expiry,
    command_approval: 'ask',
  })
  const own = (one: WireValue) => [one.when_busy, one.session_expiry, one.command_approval]
  assert.deepEqual(own(agent), ['steer', session_expiry, 'ask'])
  const { body: content }: WireValue = await fetch('GET', `/v1/agents/${agent.id}/export`)
  const bring = async (changed: (one: WireValue) => object): Promise<WireValue> => {
    const file = typeof content === 'string' ? JSON.parse(content) : structuredClone(content)
    file.agents = file.agents.map((one: WireValue) => ({ ...one, ...changed(one) }))
    const upload = new File([JSON.stringify(file)], 'agent.af', { type: 'application/json' })
    const { agent_ids } = await client.agents.importFile({ file: upload })
    return client.agents.retrieve(agent_ids[0]!)
  }
  const same = await bring(() => ({}))
  assert.deepEqual(own(same), ['steer', session_expiry, 'ask'])
  const older = await bring(() => ({ when_busy: undefined, session_expiry: undefined, command_approval: undefined }))
  assert.deepEqual(own(older), [null, null, null], 'a file of another server has none')
  const loose = await bring(() => ({ command_approval: 'never' }))
  assert.equal(loose.command_approval, null, 'a file does not decide that commands run unasked')
  assert.match(JSON.stringify(loose.metadata), /command_approval/)
})
