import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { realClock } from '../../src/config/real-clock.ts'
import type { CredentialId } from '../../src/core/credential.ts'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import type { RefreshResult } from '../../src/ports/credentials.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import type { CredentialPoolOptions } from '../../src/providers/credentials/credential-pool.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import { startPostgres } from '../harness/postgres.ts'
import { choose, forever, granted, NOW, openPoolFixture, type PoolFixture, secretOf } from './fixture-pool.ts'
import { startTokenEndpoint, type TokenEndpoint } from './fixture-token-endpoint.ts'

async function openOAuthFixture(context: TestContext, options: Partial<CredentialPoolOptions> = {}) {
  const endpoint = await startTokenEndpoint()
  context.after(endpoint.close)
  const flows = { generic: { tokenUrl: `${endpoint.url}/oauth/token`, clientId: 'client-1' } }
  const fixture = await openPoolFixture(context, { flows, ...options })
  const id = await addTokens(fixture)
  return { ...fixture, endpoint, id, flows }
}

const addTokens = (fixture: Pick<PoolFixture, 'add'>, more: object = {}): Promise<CredentialId> =>
  fixture.add({ provider: 'acme', secret: 'access-0', refreshToken: 'refresh-0', oauth: { flow: 'generic' }, ...more })

const refresh = ({ pool, id }: Pick<PoolFixture, 'pool'> & { id: CredentialId }, failedSecret = 'access-0') =>
  pool.refresh(id, { failedSecret, signal: forever })

const rowOf = async ({ store, id }: Pick<PoolFixture, 'store'> & { id: CredentialId }) =>
  (await store.credentials.get(ORGANIZATION, id))!

const acme = { provider: 'acme' }

test('a token is renewed, stored with its new refresh token, and used from then on', async (context) => {
  const fixture = await openOAuthFixture(context)
  assert.equal((await granted(fixture, acme)).canRefresh, true)
  assert.deepEqual(await refresh(fixture), { type: 'refreshed' })
  assert.equal(await secretOf(fixture, acme), 'access-1')
  const { method, path, fields } = fixture.endpoint.requests[0]!
  assert.deepEqual([method, path], ['POST', '/oauth/token'])
  assert.deepEqual(fields, { grant_type: 'refresh_token', refresh_token: 'refresh-0', client_id: 'client-1' })
  assert.deepEqual(await refresh(fixture, 'access-1'), { type: 'refreshed' })
  assert.equal(await secretOf(fixture, acme), 'access-2')
  assert.equal((await rowOf(fixture)).generation, 3)
})

test('if the stored secret differs from the one that failed, the token endpoint is not called', async (context) => {
  const fixture = await openOAuthFixture(context)
  assert.deepEqual(await refresh(fixture, 'an older one'), { type: 'refreshed' })
  assert.deepEqual(fixture.endpoint.requests, [])
})

test('concurrent refreshes in one process call the endpoint once', async (context) => {
  const fixture = await openOAuthFixture(context)
  const all = await Promise.all(Array.from({ length: 20 }, () => refresh(fixture)))
  assert.ok(all.every(({ type }) => type === 'refreshed'))
  assert.equal(fixture.endpoint.requests.length, 1)
})

test('two processes that refresh a single-use token at the same moment call the endpoint once, and both get the new token', async (context) => {
  const fixture = await openOAuthFixture(context)
  const processes = [await startRefresher(context, fixture), await startRefresher(context, fixture)]
  // The response waits until both processes have read their store, so that neither is late by chance.
  fixture.endpoint.answer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1', expires_in: 3_600 } }
  })
  for (const one of processes) one.go()
  for (const one of processes) assert.equal(await one.nextLine(), 'refreshed access-1')
  assert.equal(fixture.endpoint.requests.length, 1)
})

test('a process killed between its claim and its write leaves a claim that expires, and the token is tried once more', async (context) => {
  const fixture = await openOAuthFixture(context, { refreshLeaseMs: 500 })
  const victim = await startRefresher(context, fixture, 500)
  await killWhileAsking(victim, fixture.endpoint)
  assert.notEqual((await rowOf(fixture)).refreshingBy, undefined)
  // The vendor did not process the request.
  fixture.endpoint.answer(undefined)
  assert.deepEqual(await refresh(fixture), { type: 'refreshed' })
  assert.equal(await secretOf(fixture, acme), 'access-1')
  assert.deepEqual(
    fixture.endpoint.requests.map(({ fields }) => fields.refresh_token),
    ['refresh-0', 'refresh-0'],
  )
})

test('if the vendor already spent the token of the killed process, the credential is dead, with the reason', async (context) => {
  const fixture = await openOAuthFixture(context, { refreshLeaseMs: 500 })
  await killWhileAsking(await startRefresher(context, fixture, 500), fixture.endpoint)
  fixture.endpoint.answer(() => ({ status: 400, body: { error: 'refresh_token_reused' } }))
  assert.equal((await refresh(fixture)).type, 'dead')
  const { state } = await rowOf(fixture)
  assert.equal(state.type === 'dead' && state.reason, 'refresh_token_reused')
  assert.match(state.type === 'dead' ? state.detail : '', /ended while it renewed the token .*; sign in again/)
  assert.equal((await choose(fixture, acme)).type, 'spent')
  assert.equal((await refresh(fixture)).type, 'dead')
  assert.equal(fixture.endpoint.requests.length, 2)
})

test('a final OAuth error makes the credential dead until it is replaced', async (context) => {
  for (const code of ['invalid_grant', 'refresh_token_reused', 'token_revoked', 'unauthorized_client']) {
    const fixture = await openOAuthFixture(context)
    fixture.endpoint.answer(() => ({ status: 400, body: { error: code, error_description: 'refresh-0 is no good' } }))
    const refreshed = await refresh(fixture)
    assert.deepEqual(refreshed, { type: 'dead', detail: `${code}: [secret] is no good` })
    const { label } = await rowOf(fixture)
    await addTokens(fixture, { label, secret: 'access-new', onSameLabel: 'replace' })
    assert.equal(await secretOf(fixture, acme), 'access-new')
  }
})

test('a server error, a cut connection or an unreadable response leaves the credential alive and releases the claim', async (context) => {
  const fixture = await openOAuthFixture(context)
  const troubles = [
    { status: 503, body: { error: 'invalid_grant' } },
    { status: 429, body: { error: 'invalid_grant' } },
    { status: 502, body: '<html>bad gateway</html>' },
    { status: 200, body: {} },
    { status: 400, body: { error: 'invalid_client' } },
    'cut' as const,
  ]
  for (const trouble of troubles) {
    fixture.endpoint.answer(() => trouble)
    assert.equal((await refresh(fixture)).type, 'failed', JSON.stringify(trouble))
    const { state, refreshingBy, refreshFailure } = await rowOf(fixture)
    assert.deepEqual([state.type, refreshingBy], ['ok', undefined])
    assert.ok(refreshFailure)
  }
  fixture.endpoint.answer(undefined)
  assert.equal((await refresh(fixture)).type, 'refreshed')
  assert.equal((await rowOf(fixture)).refreshFailure, undefined)
})

test('a process that waits for a renewal by another process gets its failure and does not retry at once', async (context) => {
  const fixture = await openOAuthFixture(context)
  const other = await fixture.join()
  fixture.endpoint.answer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    return { status: 503, body: {} }
  })
  const answers = await Promise.all([refresh(fixture), refresh({ ...other, id: fixture.id })])
  assert.deepEqual(
    answers.map(({ type }) => type),
    ['failed', 'failed'],
  )
  assert.equal(fixture.endpoint.requests.length, 1)
})

test('a caller that stops waiting does not stop the renewal', async (context) => {
  const fixture = await openOAuthFixture(context)
  const leaving = new AbortController()
  fixture.endpoint.answer(() => {
    leaving.abort()
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1' } }
  })
  const left = fixture.pool.refresh(fixture.id, { failedSecret: 'access-0', signal: leaving.signal })
  const stayed = refresh(fixture)
  assert.equal((await left).type, 'failed')
  assert.equal((await stayed).type, 'refreshed')
  assert.equal(await secretOf(fixture, acme), 'access-1')
})

test('a new token is not lost to a full disk', async (context) => {
  const fixture = await openOAuthFixture(context)
  const { renew } = fixture.store.credentials
  let failures = 2
  fixture.store.credentials.renew = (...parameters) =>
    failures-- > 0 ? Promise.reject(new StorageError('full', 'the disk is full')) : renew(...parameters)
  assert.deepEqual(await refresh(fixture), { type: 'refreshed' })
  assert.equal(await secretOf(fixture, acme), 'access-1')
  assert.equal(fixture.faults.length, 1)
})

test('an expired token is renewed before it is granted, and granted unchanged if the renewal fails', async (context) => {
  const fixture = await openOAuthFixture(context)
  const other = await addTokens(fixture, { expiresAt: NOW + 1_000, priority: -1 })
  assert.equal(await secretOf(fixture, acme), 'access-1')
  fixture.endpoint.answer(() => ({ status: 503, body: {} }))
  const late = { ...acme, at: NOW + 40_000 * 3_600_000, preferred: other }
  assert.equal(await secretOf(fixture, late), 'access-1')
  const requestsBefore = fixture.endpoint.requests.length
  assert.equal(await secretOf(fixture, late), 'access-1')
  assert.equal(fixture.endpoint.requests.length, requestsBefore)
})

test('turns that choose an expired token all wait for one renewal', async (context) => {
  const fixture = await openOAuthFixture(context)
  await addTokens(fixture, { expiresAt: NOW + 1_000, priority: -1 })
  const secrets = await Promise.all(Array.from({ length: 5 }, () => secretOf(fixture, acme)))
  assert.deepEqual(new Set(secrets), new Set(['access-1']))
  assert.equal(fixture.endpoint.requests.length, 1)
})

test('a turn canceled during a renewal does not keep other turns from renewing the token', async (context) => {
  const fixture = await openOAuthFixture(context)
  const id = await addTokens(fixture, { expiresAt: NOW + 1_000, priority: -1 })
  const leaving = new AbortController()
  fixture.endpoint.answer(() => {
    leaving.abort()
    return { status: 503, body: {} }
  })
  const left = secretOf(fixture, { ...acme, signal: leaving.signal })
  const stayed = refresh({ ...fixture, id })
  assert.equal(await left, 'access-0', 'the canceled turn gets the old secret')
  assert.equal((await stayed).type, 'failed')
  fixture.endpoint.answer(() => ({ body: { access_token: 'access-1', refresh_token: 'refresh-1' } }))
  assert.equal(await secretOf(fixture, acme), 'access-1')
})

test('a new token is not lost to a key file that is rejected for a while', async (context) => {
  const fixture = await openOAuthFixture(context)
  const key = join(fixture.home, 'secret.key')
  fixture.endpoint.answer(() => {
    chmodSync(key, 0o644)
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1' } }
  })
  const refreshed = refresh(fixture)
  while (fixture.faults.length === 0) await new Promise((resolve) => setImmediate(resolve))
  chmodSync(key, 0o600)
  assert.deepEqual(await refreshed, { type: 'refreshed' })
  assert.equal(await secretOf(fixture, acme), 'access-1')
  chmodSync(key, 0o644)
  assert.equal((await refresh(fixture, 'access-1')).type, 'failed')
})

test('a stored API key cannot be refreshed', async (context) => {
  const fixture = await openPoolFixture(context)
  const id = await fixture.add({ secret: 'sk-1' })
  assert.equal((await granted(fixture)).canRefresh, false)
  assert.deepEqual(await refresh({ ...fixture, id }, 'sk-1'), { type: 'unchanged' })
})

test('on PostgreSQL two stores that refresh at once call the endpoint once', async (context) => {
  const server = await startPostgres()
  if ('skip' in server) return context.skip(server.skip)
  const open = () => openPostgresStore({ url: server.url, clock: realClock, durability: 'strict' })
  const opened = [await open(), await open()]
  context.after(async () => {
    for (const { store, chunks } of opened) {
      await chunks.close()
      await store.close()
    }
    await server.stop()
  })
  const fixture = await openOAuthFixture(context, { store: opened[0]!.store })
  const { credentials } = fixture.store
  await opened[0]!.store.credentials.add((await credentials.get(ORGANIZATION, fixture.id))!)
  const other = await fixture.join({ store: opened[1]!.store })
  const answers: RefreshResult[] = await Promise.all([
    refresh(fixture),
    refresh({ ...other, id: fixture.id }),
    refresh(fixture),
  ])
  assert.ok(answers.every(({ type }) => type === 'refreshed'))
  assert.equal(fixture.endpoint.requests.length, 1)
  assert.equal(await secretOf(other, acme), 'access-1')
})

type OAuthFixture = Awaited<ReturnType<typeof openOAuthFixture>>
type Refresher = { child: ChildProcess; go(): void; nextLine(): Promise<string> }

async function startRefresher(context: TestContext, fixture: OAuthFixture, leaseMs = 30_000): Promise<Refresher> {
  const program = fileURLToPath(new URL('refresher-process.ts', import.meta.url))
  const parameters = [program, fixture.home, fixture.id, fixture.flows.generic.tokenUrl, String(leaseMs)]
  const child = spawn(process.execPath, parameters, { stdio: ['pipe', 'pipe', 'inherit'] })
  context.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  let arrived = () => {}
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    lines.push(...text.split('\n').filter(Boolean))
    arrived()
  })
  const nextLine = async (): Promise<string> => {
    while (lines.length === 0) {
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    }
    return lines.shift()!
  }
  assert.equal(await nextLine(), 'ready')
  return { child, go: () => void child.stdin!.write('go\n'), nextLine }
}

/** Kills the process after its claim is committed and its request has arrived: the worst moment. */
async function killWhileAsking({ child, go }: Refresher, endpoint: TokenEndpoint): Promise<void> {
  const requested = new Promise<void>((resolve) =>
    endpoint.answer(() => {
      resolve()
      return 'hang'
    }),
  )
  go()
  await requested
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}
