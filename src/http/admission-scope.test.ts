import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needOf } from './admission-scope.ts'

test('looking needs the least, working more, and saying who may or where to reach out the most', () => {
  const table: [string, string, string][] = [
    ['read', 'GET', '/v1/agents/:agent_id'],
    ['read', 'HEAD', '/v1/agents/:agent_id'],
    ['read', 'POST', '/v1/runs/:run_id/stream'],
    ['read', 'POST', '/v1/messages/search'],
    ['read', 'GET', '/v1/mcp-servers/:mcp_server_id/tools'],
    ['agent', 'POST', '/v1/agents/:agent_id/messages'],
    ['agent', 'DELETE', '/v1/runs/:run_id'],
    ['agent', 'POST', '/v1/mcp-servers/:mcp_server_id/tools/:tool_id/run'],
    ['agent', 'POST', '/v1/approvals/:run_id'],
    ['admin', 'GET', '/v1/keys'],
    ['admin', 'HEAD', '/v1/audit'],
    ['admin', 'DELETE', '/v1/users/:user_id'],
    ['admin', 'GET', '/v1/organizations'],
    ['operator', 'POST', '/v1/organizations'],
    ['admin', 'POST', '/v1/mcp-servers'],
    ['admin', 'PATCH', '/v1/mcp-servers/:mcp_server_id'],
    ['admin', 'PATCH', '/v1/mcp-servers/:mcp_server_id/refresh'],
    ['operator', 'GET', '/metrics'],
  ]
  for (const [need, method, route] of table) assert.equal(needOf(method, route), need, `${method} ${route}`)
})

test('a route nobody thought of needs a key that may change things, unless it is a mere look', () => {
  assert.equal(needOf('POST', '/v1/new/:thing'), 'agent')
  assert.equal(needOf('PUT', ''), 'agent')
  assert.equal(needOf('GET', '/v1/new'), 'read')
})
