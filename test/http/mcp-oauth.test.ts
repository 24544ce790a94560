import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openOAuthFixture } from './fixture-mcp-oauth.ts'

test('a person authorizes an MCP server: the address is shown, the tools are read, calls have the token', async (t) => {
  const { add, show, begin, ask, issuer, turn, home, remote } = await openOAuthFixture(t)
  const added = await add()
  assert.deepEqual([added.connection.state, added.authorization.state], ['needs_authorization', 'needed'])
  assert.match(added.connection.detail!, /needs authorization: no person has authorized it/)
  assert.equal((await ask('PATCH', `/v1/mcp-servers/${added.id}/refresh`)).status, 502)

  const address = await begin(added.id)
  assert.equal(await begin(added.id), address, 'a repeated request gets the same address')
  assert.equal(issuer.registrations.length, 1)
  const { searchParams } = new URL(address)
  assert.equal(searchParams.get('resource'), remote.url)
  assert.equal(searchParams.get('code_challenge_method'), 'S256')
  assert.equal(searchParams.get('scope'), 'tools')
  const waiting = await show(added.id)
  assert.deepEqual([waiting.authorization.state, waiting.authorization.authorization_url], ['waiting', address])

  const answer = await issuer.visit(address)
  const page = await fetch(answer)
  assert.equal(page.status, 200)
  assert.match(await page.text(), /sea is connected/)
  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'/)
  const again = await fetch(answer)
  assert.equal(again.status, 200, 'a reloaded page is the same answer')
  assert.equal(issuer.tokenRequests.length, 1)

  const shown = await show(added.id)
  assert.deepEqual([shown.connection.state, shown.authorization.state], ['reached', 'authorized'])
  assert.equal(shown.authorization.issuer, `${issuer.url}`)
  assert.deepEqual(await turn(), { output: 'the sea is calm', status: 'completed', stopReason: 'end_turn' })

  const sent = remote.requests.map(({ headers }) => headers.authorization ?? '').filter((one) => one !== '')
  const secrets = [
    sent[0]!.slice('Bearer '.length),
    answer.searchParams.get('code')!,
    issuer.tokenRequests[0]!.code_verifier!,
  ]
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  for (const file of files) {
    const content = readFileSync(join(file.parentPath, file.name), 'latin1')
    for (const secret of secrets) assert.ok(!content.includes(secret), `${file.name} holds a secret in the clear`)
  }
  const answers = JSON.stringify([shown, (await ask('GET', '/v1/mcp-servers')).body])
  for (const secret of secrets) assert.ok(!answers.includes(secret))
  const { body: credentials } = await ask<unknown>('GET', '/v1/audit')
  assert.match(JSON.stringify(credentials), /mcp-server\.authorize/)
})

test('a call that meets a revoked authorization ends as a tool error that says what to do, and the turn goes on', async (t) => {
  const { add, connect, issuer, turn, show } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  issuer.revokeAll()
  const { output, status, stopReason } = await turn()
  assert.match(output, /needs authorization: its authorization was refused \(invalid_grant.*Nothing happened/)
  assert.match(output, /holdfast mcp connect sea/)
  assert.deepEqual([status, stopReason], ['completed', 'end_turn'])
  const shown = await show(id)
  assert.deepEqual([shown.connection.state, shown.authorization.state], ['needs_authorization', 'needed'])
  const before = issuer.tokenRequests.length
  assert.match((await turn()).output, /needs authorization: its authorization was refused/)
  assert.equal(issuer.tokenRequests.length, before, 'a refused token is not sent again')
  await connect(id)
  assert.equal((await turn()).output, 'the sea is calm')
  assert.equal(issuer.registrations.length, 1, 'the client is registered once')
})
