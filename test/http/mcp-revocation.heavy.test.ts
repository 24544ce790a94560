import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOAuthFixture } from './fixture-mcp-oauth.ts'

test('an authorization server that is silent delays the end of an MCP server by seconds and keeps nothing', async (t) => {
  const { add, connect, ask, issuer } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  issuer.fault('revoke', 'hang')
  const ended = await ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.deepEqual([ended.status, ended.body.authorization.state], [200, 'needed'])
  assert.match(ended.body.connection.detail!, /did not revoke them: .* does not answer/)
  await connect(id)
  const deleted = await ask<{ revocation: { state: string } }>('DELETE', `/v1/mcp-servers/${id}`)
  assert.deepEqual([deleted.status, deleted.body.revocation.state], [200, 'failed'])
  assert.equal((await ask('GET', `/v1/mcp-servers/${id}`)).status, 404)
})
