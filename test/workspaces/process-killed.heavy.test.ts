import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { missingProgram } from '../harness/programs.ts'
import { MODEL, openServer, type Server } from '../http/fixture-server-process.ts'
import { withoutServer } from './fixture-workspace-app.ts'
import { removeAll, until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

/** A server process with a simulated model that calls the tool named in the last message. */
async function serveWorkspaces(context: TestContext) {
  const server = await openServer({ HOLDFAST_CACHE_ENTRIES: '1' })
  context.after(async () => {
    await server.kill()
    await withoutServer(server.home, removeAll)
    await server.close()
  })
  const agent = await server.client.agents.create({
    model: MODEL,
    tools: ['shell', 'process'],
    include_base_tools: false,
  })
  return { server, agentId: agent.id, ...talk(server, agent.id) }
}

function talk({ client, simulator, home }: Server, agentId: string) {
  let count = 0
  const begin = async (name: string, input: object) => {
    const word = `order-${++count}`
    const call = { id: `call-${count}`, name, arguments: input as never }
    simulator.reset()
    simulator.script({ when: { lastContains: word }, answer: { calls: [call] } }, { answer: { text: 'Done.' } })
    return (await client.agents.messages.createAsync(agentId, { input: word })).id
  }
  const ended = async (runId: string) => {
    await until(async () => (await client.runs.retrieve(runId).catch(() => undefined))?.status === 'completed')
    const messages = (await client.runs.messages.list(runId)).getPaginatedItems()
    const returns = messages.filter((message) => message.message_type === 'tool_return_message')
    assert.equal(returns.length, 1)
    return (returns[0] as unknown as { tool_return: string }).tool_return
  }
  const conversationId = () =>
    readdirSync(join(home, 'workspaces')).find((name) => name.startsWith('conv-')) as ConversationId
  return { begin, ended, call: async (name: string, input: object) => ended(await begin(name, input)), conversationId }
}

test('a background command outlives kill -9 of the server; the next server reads its output and exit status', {
  skip,
}, async (context) => {
  const { server, call, conversationId } = await serveWorkspaces(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects; exit 9'
  const process_id = /\[process (\S+):/.exec(await call('shell', { command, background: true }))?.[1]
  await server.kill()
  await withoutServer(server.home, async (workspaces) => {
    const workspace = await workspaces.find(conversationId())
    assert.equal((await workspace?.process(process_id!))?.ending, undefined)
    await workspace?.files.write('go', '')
    await workspace?.wait(process_id!, AbortSignal.timeout(10_000))
  })
  await server.start()
  assert.match(await call('process', { action: 'list' }), new RegExp(`${process_id}  exit code 9`))
  assert.match(await call('process', { action: 'log', process_id }), /^ran\n\[/)
})

test('a foreground command of a killed server runs once, and the next server reports its ending', {
  skip,
}, async (context) => {
  const { server, begin, ended, conversationId } = await serveWorkspaces(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects; exit 9'
  const runId = await begin('shell', { command })
  const workspaceFolder = () => until(() => readdirSync(join(server.home)).includes('workspaces') && conversationId())
  await workspaceFolder()
  await withoutServer(server.home, async (workspaces) => {
    await until(async () => {
      const workspace = await workspaces.find(conversationId())
      return workspace && (await workspace.processes()).length === 1
    })
  })
  await server.kill()
  await server.start()
  await withoutServer(server.home, async (workspaces) => {
    await (await workspaces.find(conversationId()))?.files.write('go', '')
  })
  assert.match(await ended(runId), /^ran\n\[process \S+: exit code 9/)
})

test('a conversation is woken once, even if the server is killed repeatedly around the end of a command', {
  skip,
}, async (context) => {
  const { server, agentId, call, conversationId } = await serveWorkspaces(context)
  const command = 'until [ -e go ]; do sleep 0.05; done; echo the end'
  await call('shell', { command, background: true, notify: true })
  await server.kill()
  await withoutServer(server.home, async (workspaces) => {
    await (await workspaces.find(conversationId()))?.files.write('go', '')
  })
  const awaited = () => readdirSync(join(server.home, 'workspaces', conversationId(), 'awaited'))
  assert.equal(awaited().length, 1)
  server.simulator.reset()
  server.simulator.script({ answer: { text: 'Good.' } })
  // Kill the server as soon as the wake-up calls the model: before, while or after the watch file is removed.
  await server.start()
  await until(() => server.simulator.requests.length > 0)
  await server.kill()
  await server.start()
  await until(() => awaited().length === 0)
  const runs = await until(async () => {
    const all = (await server.client.runs.list({ agent_id: agentId })).getPaginatedItems()
    return all.every(({ status }) => status === 'completed') && all
  })
  assert.equal(runs.length, 2)
})
