import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestOf } from './fixture-keyed-server.ts'
import { type OAuthFixture, openOAuthFixture } from './fixture-mcp-oauth.ts'
import { KEY } from './fixture-server-process.ts'

const auditOf = async ({ ask }: OAuthFixture) =>
  (await ask<{ verb: string; outcome: string; object: string; detail: string }[]>('GET', '/v1/audit')).body.filter(
    ({ verb }) => verb === 'mcp-server.revoke-tokens',
  )

test('a disconnected MCP server has its tokens revoked where they came from, and says so', async (t) => {
  const fixture = await openOAuthFixture(t)
  const { add, connect, ask, issuer, show, app } = fixture
  const { id } = await add()
  const nothing = await ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.deepEqual([nothing.status, issuer.revoked], [200, []], 'there are no tokens yet')

  await connect(id)
  const { status, body } = await ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.deepEqual([status, body.authorization.state], [200, 'needed'])
  assert.equal(body.connection.detail, `Its authorization was ended. Its tokens were revoked at ${issuer.url}.`)
  assert.deepEqual(
    issuer.revoked.map(({ token_type_hint, token, client_id }) => [token_type_hint, token!.split('-')[0], client_id]),
    [
      ['refresh_token', 'refresh', 'client-1'],
      ['access_token', 'access', 'client-1'],
    ],
  )
  assert.equal((await app.context.deps.store.credentials.list(app.context.organizationId, 'mcp:oauth')).length, 0)
  assert.deepEqual(
    (await auditOf(fixture)).map(({ outcome, detail }) => [outcome, detail]),
    [['done', `Its tokens were revoked at ${issuer.url}.`]],
  )
  await connect(id)
  assert.equal((await show(id)).authorization.state, 'authorized', 'it can be connected again')
})

test('a deleted MCP server is gone whatever its authorization server answers, and a header and the audit log say what became of its tokens', async (t) => {
  const fixture = await openOAuthFixture(t)
  const { add, connect, ask, issuer, url } = fixture
  const remove = async () => {
    const { id } = await add()
    await connect(id)
    const deleted = await fetch(`${url}/v1/mcp-servers/${id}`, { method: 'DELETE', ...requestOf(KEY) })
    assert.equal(deleted.status, 204)
    assert.equal((await ask('GET', `/v1/mcp-servers/${id}`)).status, 404)
    const { object, detail } = (await auditOf(fixture)).find((entry) => entry.object === id)!
    assert.equal(object, id)
    return { state: deleted.headers.get('x-holdfast-revocation'), detail }
  }
  assert.equal((await remove()).state, 'revoked')
  assert.equal(issuer.revoked.length, 2)
  for (const kind of ['down', 'refuses', 'cut'] as const) {
    issuer.fault('revoke', kind)
    const { state, detail } = await remove()
    assert.equal(state, 'failed', kind)
    assert.match(detail, /tokens are deleted here, but .* did not revoke them: .+\. Remove the access there\./)
    assert.doesNotMatch(detail, /(?:access|refresh)-[0-9a-f]{8}/)
  }
  issuer.fault('revoke', undefined)
  issuer.revokes = false
  const { state, detail } = await remove()
  assert.equal(state, 'not-offered')
  assert.match(detail, /offers no revocation: its tokens are deleted here, and valid there until they expire/)
  assert.equal(issuer.revoked.length, 2)
  assert.deepEqual(new Set((await auditOf(fixture)).map(({ outcome }) => outcome)), new Set(['done', 'failed']))
})

test('a server that moves to another address has the tokens of the former one revoked', async (t) => {
  const { add, connect, ask, issuer } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  await ask('PATCH', `/v1/mcp-servers/${id}`, { config: { server_url: 'http://127.0.0.1:9/mcp' } })
  assert.deepEqual(
    issuer.revoked.map(({ token_type_hint }) => token_type_hint),
    ['refresh_token', 'access_token'],
  )
})
