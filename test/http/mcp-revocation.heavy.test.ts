import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestOf } from './fixture-keyed-server.ts'
import { openOAuthFixture } from './fixture-mcp-oauth.ts'
import { KEY } from './fixture-server-process.ts'

test('an authorization server that is silent delays the end of an MCP server by seconds and keeps nothing', async (t) => {
  const { add, connect, ask, issuer, url } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  issuer.fault('revoke', 'hang')
  const ended = await ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.deepEqual([ended.status, ended.body.authorization.state], [200, 'needed'])
  assert.match(ended.body.connection.detail!, /did not revoke them: .* does not answer/)
  await connect(id)
  const deleted = await fetch(`${url}/v1/mcp-servers/${id}`, { method: 'DELETE', ...requestOf(KEY) })
  assert.deepEqual([deleted.status, deleted.headers.get('x-holdfast-revocation')], [204, 'failed'])
  assert.equal((await ask('GET', `/v1/mcp-servers/${id}`)).status, 404)
})
