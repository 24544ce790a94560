import assert from 'node:assert/strict'
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startMcpServer } from '../harness/mcp-server.ts'
import { missingProgram } from '../harness/programs.ts'
import { installProgram } from '../mcp/fixture-stdio.ts'
import { MODEL, openServer } from './fixture-server-process.ts'

const PROGRAM = fileURLToPath(new URL('../mcp/stdio-server.ts', import.meta.url))

test('a server that is stopped while MCP calls are open ends, and after the restart their outcome is unknown and the turns go on', {
  skip: missingProgram('bwrap'),
}, async (t) => {
  const remote = await startMcpServer([{ name: 'hold', run: () => new Promise(() => undefined) }])
  t.after(() => remote.close())
  const server = await openServer()
  t.after(() => server.close())
  const { client, simulator, home } = server
  mkdirSync(join(home, 'programs'), { recursive: true })
  await installProgram(home, PROGRAM, 'test.mjs')
  const tools = ['hold', 'hang']
  simulator.script(
    ...tools.map((name) => ({
      when: { lastContains: `please ${name}` },
      answer: { calls: [{ id: `call-${name}`, name, arguments: {} }] },
    })),
    { answer: { text: 'Done.' } },
  )
  await client.mcpServers.create({ server_name: 'shop', config: { server_url: remote.url } })
  await client.mcpServers.create({
    server_name: 'program',
    config: { mcp_server_type: 'stdio', command: 'node', args: ['/programs/test.mjs'] },
  })
  const runs = await Promise.all(
    tools.map(async (name) => {
      const agent = await client.agents.create({ name, model: MODEL, tools: [name], include_base_tools: false })
      return client.agents.messages.createAsync(agent.id, { input: `please ${name}` })
    }),
  )
  const callsOfProgram = () =>
    globSync(join(home, 'workspaces/.programs/*/files/calls')).flatMap((file) =>
      existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [],
    )
  await until(() => remote.calls.length === 1 && callsOfProgram().length === 1)
  await server.stop()
  await server.start()
  for (const { id } of runs) {
    await until(async () => (await client.runs.retrieve(id)).status === 'completed')
    const messages = (await client.runs.messages.list(id)).getPaginatedItems()
    const found = messages.find((message) => message.message_type === 'tool_return_message')
    assert.match((found as unknown as { tool_return: string }).tool_return, /may or may not have taken effect/)
  }
  assert.deepEqual([remote.calls.length, callsOfProgram()], [1, ['hang']], 'no call was repeated')
})

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50))
}
