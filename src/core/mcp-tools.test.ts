import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpServerId, OrganizationId, ToolId } from './id.ts'
import type { McpToolDefinition } from './mcp-server.ts'
import { type PlanToolsOptions, planTools } from './mcp-tools.ts'
import type { StoredTool } from './stored-tool.ts'

const server = { id: 'mcp_server-1' as McpServerId, organizationId: 'org-1' as OrganizationId, name: 'my shop' }

const tool = (name: string, more: Partial<McpToolDefinition> = {}): McpToolDefinition => ({
  name,
  description: `about ${name}`,
  inputSchema: { type: 'object' },
  effects: 'once',
  ...more,
})

const plan = (listed: McpToolDefinition[], more: Partial<PlanToolsOptions> = {}) =>
  planTools({
    server,
    listed,
    known: [],
    isTaken: () => false,
    now: 5,
    changes: 'approve',
    ids: listed.map((_, index): ToolId => `tool-${index}`),
    ...more,
  })

const names = (tools: StoredTool[]) => tools.map(({ name }) => name)

test('a new tool is stored with its definition, its server and its effects', () => {
  const [added] = plan([tool('pay'), tool('look', { effects: 'none' })]).add
  assert.deepEqual(added!.mcp, { serverId: server.id, toolName: 'pay', effects: 'once' })
  assert.deepEqual(added!.jsonSchema, { name: 'pay', description: 'about pay', parameters: { type: 'object' } })
  assert.deepEqual([added!.toolType, added!.tags, added!.parallel], ['external_mcp', ['mcp:my shop'], false])
})

test('every tool gets a unique name that a model can call', () => {
  const long = 'x'.repeat(200)
  const listed = ['pay', 'pay now!', '1st', long, `${long}y`].map((name) => tool(name))
  const { add } = plan(listed, { isTaken: (name) => ['pay', 'my_shop_pay'].includes(name) })
  assert.deepEqual(names(add).slice(0, 3), ['my_shop_pay_2', 'pay_now_', '_1st'])
  assert.equal(new Set(names(add)).size, 5)
  for (const name of names(add)) assert.match(name, /^[A-Za-z_][\w-]{0,63}$/)
})

test('a tool that a server lists twice is stored once', () => {
  assert.deepEqual(names(plan([tool('pay'), tool('pay')]).add), ['pay'])
})

test('changed definitions are updated, also if only the effects changed, and user settings are kept', () => {
  const known = plan(['same', 'words', 'effects', 'gone'].map((name) => tool(name))).add
  const decided = known.map((one) => ({ ...one, needsApproval: true, returnCharLimit: 7, createdAt: 1 }))
  const listed = [tool('same'), tool('words', { description: 'new' }), tool('effects', { effects: 'none' })]
  const { add, change, remove } = plan(listed, { known: decided })
  assert.deepEqual([names(add), names(change), names(remove)], [[], ['words', 'effects'], ['gone']])
  for (const one of change)
    assert.deepEqual([one.needsApproval, one.returnCharLimit, one.createdAt, one.updatedAt], [true, 7, 1, 5])
  assert.equal(change[1]!.mcp?.effects, 'none')
})
