import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdfast, startHoldfast } from '../cli/holdfast.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../harness/authorization-server.ts'
import { type McpTestServer, startMcpServer, text } from '../harness/mcp-server.ts'
import { startPostgres } from '../harness/postgres.ts'
import { openOAuthFixture, type ShownMcpServer } from './fixture-mcp-oauth.ts'
import { MODEL, openServer, type Server } from './fixture-server-process.ts'

test('an expired token is renewed in the middle of a turn, once for many calls, and the session goes on', async (t) => {
  const { add, connect, issuer, turn } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  issuer.expireTokens()
  issuer.beforeToken = () => new Promise((resolve) => setTimeout(resolve, 50))
  const turns = await Promise.all(Array.from({ length: 5 }, turn))
  assert.deepEqual(
    turns.map(({ output }) => output),
    Array(5).fill('the sea is calm'),
  )
  assert.deepEqual(
    issuer.tokenRequests.map(({ grant_type }) => grant_type),
    ['authorization_code', 'refresh_token'],
  )
  // A token that is about to expire is renewed before it is sent.
  issuer.lifetime = 1
  issuer.expireTokens()
  await turn()
  const renewals = issuer.tokenRequests.length
  assert.equal((await turn()).output, 'the sea is calm')
  assert.ok(issuer.tokenRequests.length > renewals)
  assert.deepEqual(issuer.reused, [])
})

test('a token without a renewal that is rejected needs a person, and a server that is silent does not hold the turn', async (t) => {
  const { add, connect, issuer, turn, show } = await openOAuthFixture(t)
  issuer.issuesRefreshTokens = false
  // About to expire, and still accepted.
  issuer.lifetime = 10
  const { id } = await add()
  await connect(id)
  assert.equal((await turn()).output, 'the sea is calm')
  issuer.expireTokens()
  assert.match((await turn()).output, /no longer accepts the token, and there is none to renew it with/)
  assert.equal((await show(id)).authorization.state, 'needed')
  issuer.issuesRefreshTokens = true
  issuer.lifetime = 3_600
  await connect(id)
  issuer.expireTokens()
  for (const fault of ['down', 'garbage'] as const) {
    issuer.fault('token', fault)
    assert.match((await turn()).output, /could not be renewed: .*Nothing happened. Try again later/)
    assert.equal((await show(id)).authorization.state, 'authorized', 'a fault that passes needs no person')
  }
  issuer.fault('token', undefined)
  assert.equal((await turn()).output, 'the sea is calm')
})

test('a tool that needs more scope asks for it, and the next authorization has it', async (t) => {
  const { add, connect, issuer, turn, begin, show } = await openOAuthFixture(t)
  const { id } = await add()
  await connect(id)
  issuer.neededScope = 'write'
  assert.match((await turn()).output, /needs authorization: it asks for the scope tools write/)
  assert.equal((await show(id)).authorization.state, 'needed')
  assert.equal(new URL(await begin(id)).searchParams.get('scope'), 'tools write')
  await connect(id)
  assert.equal((await turn()).output, 'the sea is calm')
})

test('refusals, forged and late answers of a browser change nothing and say what to do', async (t) => {
  const { add, begin, issuer, url, show, ask } = await openOAuthFixture(t)
  const fetch = (address: string | URL) => globalThis.fetch(address, { headers: { accept: 'text/html' } })
  const { id } = await add()
  issuer.fault('authorize', 'refuses')
  const refused = await fetch(await issuer.visit(await begin(id)))
  assert.equal(refused.status, 409)
  assert.match(await refused.text(), /was not authorized: access_denied: The person said no/)
  assert.match((await show(id)).authorization.detail!, /access_denied/)
  issuer.fault('authorize', undefined)

  const callback = `${url}/v1/mcp-servers/oauth/callback`
  for (const query of ['', '?code=x', '?code=x&state=forged', `?code=x&state=${'A'.repeat(400)}`]) {
    const answer = await fetch(`${callback}${query}`)
    assert.ok([422, 409].includes(answer.status), query)
    assert.doesNotMatch(await answer.text(), /<script|at Object/)
  }
  const good = await issuer.visit(await begin(id))
  const mixed = new URL(good)
  mixed.searchParams.set('iss', 'https://other.example')
  assert.match(await (await fetch(mixed)).text(), /does not come from its authorization server/)
  assert.equal((await fetch(good)).status, 409, 'the mixed-up answer ended this authorization')
  assert.equal(issuer.tokenRequests.length, 0)

  const xss = await issuer.visit(await begin(id))
  xss.searchParams.delete('code')
  xss.searchParams.set('error', '<script>alert(1)</script>')
  assert.doesNotMatch(await (await fetch(xss)).text(), /<script/)

  const stolen = await issuer.visit(await begin(id))
  issuer.fault('token', 'refuses')
  assert.match(await (await fetch(stolen)).text(), /was not authorized: .*Connect it again/)
  issuer.fault('token', undefined)
  const finish = (redirected_to: string, of = id) =>
    ask('POST', `/v1/mcp-servers/${of}/connect/finish`, { redirected_to })
  assert.equal((await finish('no address')).status, 422)
  assert.equal((await finish('http://127.0.0.1/?code=1')).status, 422)
  const finished = await finish((await issuer.visit(await begin(id))).href)
  assert.deepEqual([finished.status, finished.body.authorization.state], [200, 'authorized'])
})

test('what cannot be authorized is refused with the reason', async (t) => {
  const { add, ask, issuer, begin } = await openOAuthFixture(t)
  const plain = await startMcpServer([{ name: 'free', run: () => text('free') }])
  t.after(() => plain.close())
  const connectTo = async (config: object) => {
    const { body } = await ask('POST', '/v1/mcp-servers', { server_name: `one-${Math.random()}`, config })
    return ask('POST', `/v1/mcp-servers/${body.id}/connect`, {})
  }
  const open = await connectTo({ server_url: plain.url })
  assert.deepEqual([open.status, /offers no OAuth/.test(JSON.stringify(open.body))], [502, true])
  const program = await connectTo({ command: 'no-such-program', args: [] })
  assert.deepEqual([program.status, /is a program/.test(JSON.stringify(program.body))], [422, true])
  const fixed = await connectTo({ server_url: plain.url, auth_token: 'a-token-of-its-own' })
  assert.deepEqual([fixed.status, /has a token of its own/.test(JSON.stringify(fixed.body))], [409, true])

  const { id } = await add()
  const path = `/v1/mcp-servers/${id}/connect`
  const statusOf = async (body: object) => (await ask('POST', path, body)).status
  assert.equal(await statusOf({ client_secret: 'alone' }), 422)
  assert.equal(await statusOf({ redirect_url: 'javascript:alert(1)' }), 422)
  for (const fault of ['down', 'garbage', 'cut'] as const) {
    issuer.fault('metadata', fault)
    assert.equal(await statusOf({}), 502, fault)
  }
  issuer.fault('metadata', undefined)
  issuer.fault('register', 'refuses')
  const unregistered = await ask('POST', path, {})
  assert.deepEqual([unregistered.status, /cannot be authorized/.test(unregistered.body.detail)], [502, true])
  issuer.fault('register', undefined)
  issuer.registers = false
  assert.match((await ask('POST', path, {})).body.detail, /does not support dynamic client registration/)
  assert.match(await begin(id, { client_id: 'given-client' }), /client_id=given-client/)
})

test('tokens stay with their origin, end with their server, and the address is shown to administrators only', async (t) => {
  const { add, connect, ask, show, remote, issuer, app, turn, begin } = await openOAuthFixture(t)
  const { id } = await add()
  const key = await ask<{ key: string }>('POST', '/v1/keys', { name: 'reader', scope: 'read' })
  const address = await begin(id)
  const { body: seen } = await ask('GET', `/v1/mcp-servers/${id}`, undefined, key.body.key)
  assert.deepEqual([seen.authorization.state, seen.authorization.authorization_url], ['waiting', null])
  await fetch(await issuer.visit(address))

  const credentials = () => app.context.deps.store.credentials.list(app.context.organizationId)
  const [old] = await credentials()
  const other = await startMcpServer([{ name: 'look', run: () => text('stolen') }])
  t.after(() => other.close())
  await ask('PATCH', `/v1/mcp-servers/${id}`, { config: { server_url: other.url } })
  await ask('PATCH', `/v1/mcp-servers/${id}/refresh`)
  assert.equal((await turn()).output, 'stolen')
  assert.ok(other.requests.every(({ headers }) => headers.authorization === undefined))
  assert.equal((await show(id)).authorization.state, 'none')

  // As after a crash before the tokens were deleted: while the new origin is authorized, the old token stays unused.
  await app.context.deps.store.credentials.add(old!)
  issuer.protect(other)
  await begin(id)
  await ask('PATCH', `/v1/mcp-servers/${id}/refresh`)
  assert.ok(other.requests.every(({ headers }) => headers.authorization === undefined))
  assert.equal((await show(id)).authorization.state, 'waiting')
  await ask('PATCH', `/v1/mcp-servers/${id}`, { config: { server_url: remote.url } })
  assert.match((await turn()).output, /needs authorization/)

  await connect(id)
  assert.equal((await credentials()).length, 1)
  const ended = await ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.deepEqual([ended.status, ended.body.authorization.state], [200, 'needed'])
  assert.equal((await credentials()).length, 0)
  assert.match((await turn()).output, /needs authorization/)
  await connect(id)
  assert.equal((await credentials()).length, 1)
  await app.context.deps.store.mcpServers.delete(app.context.organizationId, id as `mcp_server-${string}`)
  assert.equal((await credentials()).length, 0)
})

test('the older transport is authorized too', async (t) => {
  const { add, connect, remote, turn, issuer } = await openOAuthFixture(t)
  issuer.protect({ ...remote, url: remote.sseUrl })
  const { id, connection } = await add({ mcp_server_type: 'sse', server_url: remote.sseUrl })
  assert.equal(connection.state, 'needs_authorization')
  await connect(id)
  assert.equal((await turn()).output, 'the sea is calm')
  issuer.expireTokens()
  assert.equal((await turn()).output, 'the sea is calm')
  issuer.revokeAll()
  assert.match((await turn()).output, /needs authorization/)
})

const postgres = await startPostgres()

test('two servers on one PostgreSQL renew a token once, and both use the new one', {
  skip: 'skip' in postgres ? postgres.skip : false,
}, async (t) => {
  const databaseUrl = 'url' in postgres ? postgres.url : ''
  const one = await openOAuthFixture(t, { databaseUrl })
  const { issuer } = one
  const { id } = await one.add()
  await one.connect(id)
  const other = await one.another()
  assert.equal((await other.turn()).output, 'the sea is calm')
  for (let round = 0; round < 3; round++) {
    issuer.expireTokens()
    const before = issuer.tokenRequests.length
    issuer.beforeToken = () => new Promise((resolve) => setTimeout(resolve, 200))
    const turns = await Promise.all([one, other, one, other].map(({ turn }) => turn()))
    assert.deepEqual(new Set(turns.map(({ output }) => output)), new Set(['the sea is calm']))
    assert.equal(issuer.tokenRequests.length, before + 1)
  }
  assert.deepEqual(issuer.reused, [])

  // The browser of one answer reaches both servers, and the code is sent once.
  issuer.beforeToken = undefined
  await one.ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  const answer = await issuer.visit(await one.begin(id))
  const elsewhere = new URL(other.url)
  const twin = new URL(answer)
  twin.port = elsewhere.port
  const before = issuer.tokenRequests.length
  const statuses = (await Promise.all([fetch(answer), fetch(twin), fetch(answer)])).map(({ status }) => status)
  assert.ok(statuses.includes(200), `${statuses}`)
  assert.equal(issuer.tokenRequests.length, before + 1)
  assert.equal((await other.turn()).output, 'the sea is calm')
  await other.ask('DELETE', `/v1/mcp-servers/${id}/connect`)
  assert.match((await one.turn()).output, /needs authorization/, 'the other server uses no token that was ended')
})

type Sea = { issuer: AuthorizationServer; remote: McpTestServer; server: Server; id: string }

async function openSea(t: { after(work: () => unknown): void }): Promise<Sea> {
  const issuer = await startAuthorizationServer()
  const remote = await startMcpServer([{ name: 'look', run: () => text('the sea is calm') }])
  issuer.protect(remote)
  const server = await openServer()
  t.after(async () => {
    await server.close()
    await remote.close()
    await issuer.close()
  })
  const { id } = (await server.client.mcpServers.create({
    server_name: 'sea',
    config: { server_url: remote.url },
  })) as { id: string }
  return { issuer, remote, server, id }
}

const post = async (server: Server, path: string) =>
  (await (await server.fetch(path, { method: 'POST', body: '{}' })).json()) as { authorization_url: string }

const shown = async ({ server, id }: Sea) =>
  (await (await server.fetch(`/v1/mcp-servers/${id}`)).json()) as ShownMcpServer

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('kill -9 between the steps of an authorization loses nothing, and no code is sent twice', async (t) => {
  const sea = await openSea(t)
  const { issuer, server, id } = sea
  const path = `/v1/mcp-servers/${id}/connect`
  const { authorization_url: address } = await post(server, path)
  await server.kill()
  await server.start()
  assert.equal((await post(server, path)).authorization_url, address)
  const answer = await issuer.visit(address)
  await server.kill()
  await server.start()

  // Dies while the code is with the authorization server: whether it was spent is unknown.
  issuer.beforeToken = () => new Promise(() => undefined)
  const lost = fetch(answer).catch(() => undefined)
  await until(() => issuer.tokenRequests.length === 1)
  await server.kill()
  await lost
  issuer.beforeToken = undefined
  await server.start()
  assert.equal((await fetch(answer)).status, 409)
  assert.equal(issuer.tokenRequests.length, 1)
  const after = await shown(sea)
  assert.deepEqual([after.connection.state, after.authorization.state], ['needs_authorization', 'needed'])

  const second = await issuer.visit((await post(server, path)).authorization_url)
  assert.equal((await fetch(second)).status, 200)
  await server.kill()
  await server.start()
  assert.equal((await fetch(second)).status, 200, 'a reload after the restart is the same answer')
  assert.equal((await shown(sea)).authorization.state, 'authorized')
  const { simulator, client } = server
  simulator.script(
    { when: { lastContains: 'please look' }, answer: { calls: [{ id: 'call-1', name: 'look', arguments: {} }] } },
    { answer: { text: 'Done.' } },
  )
  const agent = await client.agents.create({ name: 'ada', model: MODEL, tools: ['look'], include_base_tools: false })
  const { messages } = await client.agents.messages.create(agent.id, { input: 'please look' })
  assert.match(JSON.stringify(messages), /the sea is calm/)
})

test('`holdfast mcp connect` prints the address, waits, and reads the tools, with and without a server', async (t) => {
  const sea = await openSea(t)
  const { issuer, server, remote } = sea
  const command = (...args: string[]) => startHoldfast(['mcp', 'connect', 'sea', ...args], server)
  const connect = async () => {
    const running = command()
    let output = ''
    running.child.stdout.on('data', (piece) => {
      output += piece
    })
    await until(() => /http:.*\/authorize\S+/.test(output) && output.includes('\n'))
    await fetch(await issuer.visit(/http:\S+\/authorize\S+/.exec(output)![0]))
    const ended = await running.ended
    assert.equal(ended.code, 0, output + ended.stderr)
    assert.match(output, /Connected sea \(mcp_server-.*\): reached, 1 tool/)
  }
  issuer.fault('authorize', 'refuses')
  const refused = command()
  await refused.waitUntil((output) => /http:\S+\/authorize\S+\n/.test(output), 'the address')
  const waiting = (await shown(sea)).authorization.authorization_url!
  await fetch(await issuer.visit(waiting))
  const { code, stderr } = await refused.ended
  assert.deepEqual([code === 0, /was not connected: .*access_denied: The person said no/.test(stderr)], [false, true])
  issuer.fault('authorize', undefined)

  await connect()
  const ended = await holdfast(['mcp', 'disconnect', 'sea'], server)
  assert.match(ended.stdout, /Disconnected sea/)
  await server.stop()
  await connect()
  assert.equal(issuer.registrations.length, 2, 'one for each address that the browser returns to')
  const listed = await holdfast(['mcp', 'show', 'sea'], server)
  assert.match(listed.stdout, /authorization +by http/)
  assert.ok(remote.requests.some(({ headers }) => headers.authorization?.startsWith('Bearer access-')))
})
