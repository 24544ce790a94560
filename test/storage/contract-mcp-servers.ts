import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { McpServerId, ToolId } from '../../src/core/id.ts'
import type { McpServer } from '../../src/core/mcp-server.ts'
import { planTools } from '../../src/core/mcp-tools.ts'
import type { PlanTools } from '../../src/ports/mcp-store.ts'
import type { ContractTests } from './contract.ts'
import { AT, createAgent, ORGANIZATION, OTHER_ORGANIZATION } from './fixture-storage.ts'

const newServer = (name: string, more: Partial<McpServer> = {}): McpServer => ({
  id: `mcp_server-${randomUUID()}` as McpServerId,
  organizationId: ORGANIZATION,
  name,
  revision: 1,
  transport: { type: 'streamable_http', url: 'http://127.0.0.1:1/mcp', authHeader: 'x-key' },
  contact: { state: 'reached', at: AT },
  createdAt: AT,
  updatedAt: AT,
  ...more,
})

const planFor =
  (server: McpServer, ...names: string[]): PlanTools =>
  ({ known, isTaken }) =>
    planTools({
      changes: 'approve',
      server,
      known,
      isTaken,
      now: AT,
      ids: names.map((): ToolId => `tool-${randomUUID()}`),
      listed: names.map((name) => ({ name, description: name, inputSchema: { type: 'object' }, effects: 'once' })),
    })

const reached = { revision: 1, contact: { state: 'reached', at: AT }, at: AT } as const
const names = (tools: { name: string }[]) => tools.map(({ name }) => name).sort()

export const MCP_SERVERS: ContractTests = {
  'an MCP server is stored with its tools, and visible to its organization only': async ({ store }) => {
    const server = newServer('files', { sealed: 'ciphertext' })
    assert.equal(await store.mcpServers.create(server, planFor(server, 'read', 'write')), 'created')
    assert.deepEqual(await store.mcpServers.get(ORGANIZATION, server.id), server)
    assert.deepEqual(await store.mcpServers.list(ORGANIZATION), [server])
    assert.deepEqual(names(await store.mcpServers.tools(ORGANIZATION, server.id)), ['read', 'write'])
    assert.deepEqual(names(await store.tools.all(ORGANIZATION)), ['read', 'write'])
    assert.equal(await store.mcpServers.get(OTHER_ORGANIZATION, server.id), undefined)
    assert.deepEqual(await store.mcpServers.list(OTHER_ORGANIZATION), [])
    assert.deepEqual(await store.mcpServers.tools(OTHER_ORGANIZATION, server.id), [])
    assert.equal(await store.mcpServers.delete(OTHER_ORGANIZATION, server.id), false)
    assert.equal(await store.mcpServers.record(OTHER_ORGANIZATION, server.id, reached), undefined)
    assert.equal(await store.mcpServers.update(OTHER_ORGANIZATION, server.id, (one) => one), undefined)
  },

  'a failing plan stores neither the MCP server nor any of its tools': async ({ store }) => {
    const server = newServer('files')
    const twice: PlanTools = (stored) => {
      const { add, ...plan } = planFor(server, 'read', 'write')(stored)
      return { ...plan, add: add.map((tool) => ({ ...tool, name: 'same' })) }
    }
    await assert.rejects(store.mcpServers.create(server, twice))
    assert.equal(await store.mcpServers.get(ORGANIZATION, server.id), undefined)
    assert.deepEqual(await store.tools.all(ORGANIZATION), [])
  },

  'names of MCP servers and of tools are unique in an organization': async ({ store }) => {
    const [one, other] = [newServer('files'), newServer('mail')]
    await store.mcpServers.create(one, planFor(one, 'search'))
    assert.equal(await store.mcpServers.create(newServer('files')), 'name-taken')
    await store.mcpServers.create(other, planFor(other, 'search'))
    assert.deepEqual(names(await store.mcpServers.tools(ORGANIZATION, one.id)), ['search'])
    assert.deepEqual(names(await store.mcpServers.tools(ORGANIZATION, other.id)), ['mail_search'])
    assert.equal(
      await store.mcpServers.update(ORGANIZATION, other.id, (server) => ({ ...server, name: 'files' })),
      'name-taken',
    )
    assert.equal((await store.mcpServers.get(ORGANIZATION, other.id))?.name, 'mail')
    assert.equal(await store.mcpServers.create(newServer('files', { organizationId: OTHER_ORGANIZATION })), 'created')
  },

  'a refresh of an MCP server updates its tools in one write: ids stay, and removed tools leave their agents': async ({
    store,
  }) => {
    const { agentId } = await createAgent(store)
    const server = newServer('files')
    await store.mcpServers.create(server, planFor(server, 'read', 'write'))
    const before = await store.mcpServers.tools(ORGANIZATION, server.id)
    await store.agents.update(ORGANIZATION, agentId, {
      edit: (agent) => ({ ...agent, tools: ['note', 'read', 'write'] }),
    })
    const done = await store.mcpServers.record(ORGANIZATION, server.id, {
      ...reached,
      plan: planFor(server, 'write', 'list'),
    })
    assert.ok(done && done !== 'moved')
    assert.deepEqual([names(done.add), names(done.change), names(done.remove)], [['list'], [], ['read']])
    const after = await store.mcpServers.tools(ORGANIZATION, server.id)
    assert.deepEqual(names(after), ['list', 'write'])
    const idOf = (tools: typeof after, name: string) => tools.find((tool) => tool.name === name)?.id
    assert.equal(idOf(after, 'write'), idOf(before, 'write'))
    assert.deepEqual((await store.agents.get(ORGANIZATION, agentId))?.tools, ['note', 'write'])
    // A finding about an earlier revision is refused.
    await store.mcpServers.update(ORGANIZATION, server.id, (one) => ({ ...one, revision: 2 }))
    const late = { ...reached, plan: planFor(server) }
    assert.equal(await store.mcpServers.record(ORGANIZATION, server.id, late), 'moved')
    assert.deepEqual(names(await store.mcpServers.tools(ORGANIZATION, server.id)), ['list', 'write'])
  },

  'renaming an MCP server renames its tools, and deleting it deletes them': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const server = newServer('files')
    await store.mcpServers.create(server, planFor(server, 'note', 'read'))
    await store.mcpServers.update(ORGANIZATION, server.id, (one) => ({ ...one, name: 'papers' }))
    for (const tool of await store.mcpServers.tools(ORGANIZATION, server.id)) {
      assert.deepEqual(tool.tags, ['mcp:papers'])
      assert.match(JSON.stringify(tool.wire), /"server_name":"papers"/)
    }
    assert.equal(await store.mcpServers.delete(ORGANIZATION, server.id), true)
    assert.equal(await store.mcpServers.delete(ORGANIZATION, server.id), false)
    assert.deepEqual(await store.tools.all(ORGANIZATION), [])
    assert.deepEqual((await store.agents.get(ORGANIZATION, agentId))?.tools, [])
  },

  'sealed secrets of MCP servers are paged and resealed, unless they changed': async ({ store }) => {
    const servers = ['a', 'b', 'c'].map((name) => newServer(name, name === 'b' ? {} : { sealed: `sealed ${name}` }))
    for (const server of servers) await store.mcpServers.create(server)
    const [first] = await store.mcpServers.sealedPage(0, 1)
    assert.deepEqual([first?.id, first?.sealed], [servers[0]!.id, { secret: 'sealed a' }])
    const rest = await store.mcpServers.sealedPage(first!.number, 10)
    assert.deepEqual(
      rest.map(({ id }) => id),
      [servers[2]!.id],
    )
    assert.equal(await store.mcpServers.reseal(first!.id, { secret: 'sealed a' }, { secret: 'resealed' }), true)
    assert.equal(await store.mcpServers.reseal(first!.id, { secret: 'sealed a' }, { secret: 'late' }), false)
    assert.equal((await store.mcpServers.get(ORGANIZATION, first!.id))?.sealed, 'resealed')
  },
}
