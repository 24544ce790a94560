import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startAuthorizationServer } from '../harness/authorization-server.ts'
import { startMcpServer, text } from '../harness/mcp-server.ts'
import { startPostgres } from '../harness/postgres.ts'
import type { ShownMcpServer } from './fixture-mcp-oauth.ts'
import { MODEL, openServer } from './fixture-server-process.ts'

/** A connected MCP server whose access tokens have expired, and an agent that calls its tool in each turn. */
async function openExpired(t: TestContext, environment: Record<string, string>) {
  const issuer = await startAuthorizationServer()
  const remote = await startMcpServer([{ name: 'look', run: () => text('the sea is calm') }])
  issuer.protect(remote)
  const server = await openServer(environment)
  t.after(async () => {
    await server.close()
    await remote.close()
    await issuer.close()
  })
  const { client, simulator } = server
  const config = { server_url: remote.url }
  const { id } = (await client.mcpServers.create({ server_name: 'sea', config })) as { id: string }
  const connect = async () => {
    const response = await server.fetch(`/v1/mcp-servers/${id}/connect`, { method: 'POST', body: '{}' })
    const { authorization_url } = (await response.json()) as { authorization_url: string }
    assert.equal((await fetch(await issuer.visit(authorization_url))).status, 200)
  }
  await connect()
  simulator.script(
    { when: { lastContains: 'please look' }, answer: { calls: [{ id: 'call-1', name: 'look', arguments: {} }] } },
    { answer: { text: 'Done.' } },
  )
  const agent = await client.agents.create({ name: 'ada', model: MODEL, tools: ['look'], include_base_tools: false })
  const begin = async () => (await client.agents.messages.createAsync(agent.id, { input: 'please look' })).id
  /** How a run ended, and what its tool returned. */
  const endOf = async (runId: string) => {
    for (;;) {
      const { status } = await client.runs.retrieve(runId)
      if (status !== 'created' && status !== 'running') {
        const messages = (await client.runs.messages.list(runId)).getPaginatedItems()
        return { status, messages: JSON.stringify(messages) }
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const shown = async () => (await (await server.fetch(`/v1/mcp-servers/${id}`)).json()) as ShownMcpServer
  const renewals = () => issuer.tokenRequests.filter(({ grant_type }) => grant_type === 'refresh_token')
  issuer.expireTokens()
  return { issuer, server, connect, begin, endOf, shown, renewals }
}

/** Kills the server while the authorization server has its refresh token, and starts it again. */
async function killInRenewal(fixture: Awaited<ReturnType<typeof openExpired>>, kind: 'hang' | 'lost') {
  const { issuer, server, begin, endOf, renewals } = fixture
  issuer.fault('token', kind)
  const run = await begin()
  while (renewals().length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  await server.kill()
  issuer.fault('token', undefined)
  await server.start()
  const { status } = await endOf(run)
  assert.equal(status, 'completed', 'the run that was killed is over')
}

const databases = [await startPostgres(), await startPostgres()]
const missing = databases.flatMap((one) => ('skip' in one ? [one.skip] : []))[0] ?? false
const environmentOf = (at: number) => {
  const one = databases[at]!
  return { DATABASE_URL: 'url' in one ? one.url : '' }
}
const DATABASES = [
  { name: 'SQLite', environments: [{}, {}], skip: false },
  { name: 'PostgreSQL', environments: [environmentOf(0), environmentOf(1)], skip: missing },
] as const

for (const { name, environments, skip } of DATABASES) {
  test(`kill -9 in a renewal whose new token is lost asks a person to sign in again (${name})`, { skip }, async (t) => {
    const fixture = await openExpired(t, environments[0])
    const { issuer, begin, endOf, shown, renewals, connect } = fixture
    await killInRenewal(fixture, 'lost')

    const { status, messages } = await endOf(await begin())
    assert.equal(status, 'completed')
    assert.match(messages, /needs authorization: .*invalid_grant.*ended while it renewed the token.*sign in again/)
    const { authorization } = await shown()
    assert.equal(authorization.state, 'needed')
    assert.match(authorization.detail!, /sign in again/)
    // Once by the process that died, and once to learn that it had been used.
    assert.equal(renewals().length, 2)
    await endOf(await begin())
    assert.equal(renewals().length, 2, 'a token that was refused is not sent again')

    await connect()
    assert.match((await endOf(await begin())).messages, /the sea is calm/)
    issuer.expireTokens()
    assert.match((await endOf(await begin())).messages, /the sea is calm/)
    assert.equal(issuer.reused.length, 1)
  })

  test(`kill -9 in a renewal that did not take effect is made up for by the next call (${name})`, {
    skip,
  }, async (t) => {
    const fixture = await openExpired(t, environments[1])
    const { issuer, begin, endOf, shown, renewals } = fixture
    await killInRenewal(fixture, 'hang')
    assert.match((await endOf(await begin())).messages, /the sea is calm/)
    assert.equal((await shown()).authorization.state, 'authorized')
    const sent = renewals().map(({ refresh_token }) => refresh_token)
    assert.equal(new Set(sent).size, 1)
    assert.deepEqual(issuer.reused, [])
  })
}
