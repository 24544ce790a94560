import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { defined } from '../../src/core/defined.ts'
import { holdfast, newHome } from '../cli/holdfast.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

const COMMAND = process.env.HOLDFAST_COMMAND ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const MODEL = 'test/model'

test('the official MCP client lists the agents of this server as tools and calls them', async (t) => {
  const { client, fetch } = await serveFixture(t, { script: [{ text: 'The sea is calm.' }] })
  const agent = await client.agents.create({ model: MODEL, name: 'Harbor Master!', description: 'Knows the sea.' })
  const twins = [
    await client.agents.create({ model: MODEL, name: 'twin' }),
    await client.agents.create({ model: MODEL, name: 'twin' }),
  ]
  const mcp = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const headers = { authorization: `Bearer ${KEY}` }
  await mcp.connect(
    new StreamableHTTPClientTransport(new URL('/v1/mcp', client.baseURL), { requestInit: { headers } }) as never,
  )
  t.after(() => mcp.close())
  const { tools } = await mcp.listTools()
  const harbor = tools.find(({ name }) => name === 'Harbor_Master_')
  assert.equal(harbor?.description, 'Knows the sea.')
  for (const twin of twins) assert.ok(tools.some(({ name }) => name === `twin_${twin.id.slice(-8)}`))

  const call = (input: object, key?: string) =>
    mcp.callTool({
      name: 'Harbor_Master_',
      arguments: { ...input },
      ...defined({ _meta: key === undefined ? undefined : { 'holdfast/idempotency-key': key } }),
    })
  assert.deepEqual((await call({ message: 'How is the sea?' }, 'once')).content, [
    { type: 'text', text: 'The sea is calm.' },
  ])
  assert.deepEqual((await call({ message: 'How is the sea?' }, 'once')).content, [
    { type: 'text', text: 'The sea is calm.' },
  ])
  assert.equal((await call({ message: 'And now?' })).isError, false)
  const runs = (await fetch('GET', `/v1/runs?agent_id=${agent.id}`)).body as unknown[]
  assert.equal(runs.length, 2, 'a call that is repeated with its key attaches to the first run')

  const stray = await call({ message: 'Hi', conversation_id: 'conv-00000000-0000-4000-8000-00000000dead' })
  assert.equal(stray.isError, true)
  await assert.rejects(
    mcp.callTool({ name: 'nobody', arguments: { message: 'Hi' } }),
    /no agent with the tool name "nobody"/,
  )
  await assert.rejects(call({}), /message/)
  await mcp.ping()
})

test('messages that are not of the protocol, and keys that may only read, are refused', async (t) => {
  const { fetch } = await serveFixture(t)
  const unknown = await fetch('POST', '/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'constructor', params: {} })
  assert.deepEqual([unknown.status, (unknown.body as { error: { code: number } }).error.code], [200, -32_601])
  assert.equal((await fetch('POST', '/v1/mcp', { id: 1, method: 'ping' })).status, 422)
  assert.equal((await fetch('POST', '/v1/mcp', [])).status, 422)
})

test('holdfast mcp serve speaks the protocol over stdin and stdout, and turns run in its home', async (t) => {
  const home = newHome(t)
  await holdfast(['agents', 'create', 'guide', '--model', 'scripted/friendly'], { home })
  const mcp = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const env = { PATH: process.env.PATH!, HOLDFAST_HOME: home }
  await mcp.connect(
    new StdioClientTransport({ command: process.execPath, args: [COMMAND, 'mcp', 'serve'], env }) as never,
  )
  t.after(() => mcp.close())
  assert.deepEqual(
    (await mcp.listTools()).tools.map(({ name }) => name),
    ['guide'],
  )
  const { content, isError } = await mcp.callTool({ name: 'guide', arguments: { message: 'hello' } })
  assert.equal(isError, false)
  assert.ok((content as { text: string }[])[0]!.text.length > 0)
})
