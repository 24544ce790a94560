import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { type ServedTool, startMcpServer, text } from '../harness/mcp-server.ts'
import { MODEL, openServer } from './fixture-server-process.ts'

const NAMES = ['pay', 'look', 'save']
const HINTS: Record<string, ServedTool['annotations']> = {
  look: { readOnlyHint: true },
  save: { idempotentHint: true },
}

test('after kill -9 during an MCP call, a call that must not happen twice is not repeated, and an idempotent one is, under the same key', async (t) => {
  let isDead = false
  const remote = await startMcpServer(
    NAMES.map((name) => ({
      name,
      ...defined({ annotations: HINTS[name] }),
      run: () => (isDead ? text(`${name} done`) : new Promise(() => undefined)),
    })),
  )
  t.after(() => remote.close())
  const server = await openServer()
  t.after(() => server.close())
  const { client, simulator } = server
  simulator.script(
    ...NAMES.map((name) => ({
      when: { lastContains: `please ${name}` },
      answer: { calls: [{ id: `call-${name}`, name, arguments: {} }] },
    })),
    { answer: { text: 'Done.' } },
  )

  await client.mcpServers.create({ server_name: 'shop', config: { server_url: remote.url } })
  const runs = await Promise.all(
    NAMES.map(async (name) => {
      const agent = await client.agents.create({ name, model: MODEL, tools: [name], include_base_tools: false })
      return client.agents.messages.createAsync(agent.id, { input: `please ${name}` })
    }),
  )
  await until(async () => remote.calls.length === NAMES.length)
  await server.kill()
  isDead = true
  await server.start()

  const returns = await Promise.all(
    runs.map(async ({ id }) => {
      await until(async () => (await client.runs.retrieve(id)).status === 'completed')
      const messages = (await client.runs.messages.list(id)).getPaginatedItems()
      const found = messages.find((message) => message.message_type === 'tool_return_message')
      return (found as unknown as { tool_return: string }).tool_return
    }),
  )
  const [paid, looked, saved] = returns
  assert.match(paid!, /may or may not have taken effect/)
  assert.deepEqual([looked, saved], ['look done', 'save done'])
  const calls = (name: string) => remote.calls.filter(({ tool }) => tool === name)
  assert.deepEqual(
    NAMES.map((name) => calls(name).length),
    [1, 2, 2],
  )
  const keys = calls('save').map(({ idempotencyKey }) => idempotencyKey)
  assert.equal(typeof keys[0], 'string')
  assert.equal(keys[0], keys[1])
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}
