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

test('a token is renewed, kept with its new refresh token, and used from then on', async (context) => {
  const given = await openOAuthFixture(context)
  assert.equal((await granted(given, acme)).canRefresh, true)
  assert.deepEqual(await refresh(given), { type: 'refreshed' })
  assert.equal(await secretOf(given, acme), 'access-1')
  const { method, path, fields } = given.endpoint.requests[0]!
  assert.deepEqual([method, path], ['POST', '/oauth/token'])
  assert.deepEqual(fields, { grant_type: 'refresh_token', refresh_token: 'refresh-0', client_id: 'client-1' })
  assert.deepEqual(await refresh(given, 'access-1'), { type: 'refreshed' })
  assert.equal(await secretOf(given, acme), 'access-2')
  assert.equal((await rowOf(given)).generation, 3)
})

test('if another secret than the one that failed is there by now, nobody is asked', async (context) => {
  const given = await openOAuthFixture(context)
  assert.deepEqual(await refresh(given, 'an older one'), { type: 'refreshed' })
  assert.deepEqual(given.endpoint.requests, [])
})

test('however many ask at once in one process, the endpoint is asked once', async (context) => {
  const given = await openOAuthFixture(context)
  const all = await Promise.all(Array.from({ length: 20 }, () => refresh(given)))
  assert.ok(all.every(({ type }) => type === 'refreshed'))
  assert.equal(given.endpoint.requests.length, 1)
})

test('two real processes that refresh one single-use token at the same moment ask once and both get the new one', async (context) => {
  const given = await openOAuthFixture(context)
  const processes = [await startRefresher(context, given), await startRefresher(context, given)]
  // The answer waits until both have asked their store, so that neither can be late by chance.
  given.endpoint.answer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1', expires_in: 3_600 } }
  })
  for (const one of processes) one.go()
  for (const one of processes) assert.equal(await one.nextLine(), 'refreshed access-1')
  assert.equal(given.endpoint.requests.length, 1)
})

test('a process killed between its claim and its write leaves a claim that lapses, and the token is tried once more', async (context) => {
  const given = await openOAuthFixture(context, { refreshLeaseMs: 500 })
  const victim = await startRefresher(context, given, 500)
  await killWhileAsking(victim, given.endpoint)
  assert.notEqual((await rowOf(given)).refreshingBy, undefined)
  // The vendor never got to work on it.
  given.endpoint.answer(undefined)
  assert.deepEqual(await refresh(given), { type: 'refreshed' })
  assert.equal(await secretOf(given, acme), 'access-1')
  assert.deepEqual(
    given.endpoint.requests.map(({ fields }) => fields.refresh_token),
    ['refresh-0', 'refresh-0'],
  )
})

test('if the vendor had spent the token for the killed process, the credential is dead and says why', async (context) => {
  const given = await openOAuthFixture(context, { refreshLeaseMs: 500 })
  await killWhileAsking(await startRefresher(context, given, 500), given.endpoint)
  given.endpoint.answer(() => ({ status: 400, body: { error: 'refresh_token_reused' } }))
  assert.equal((await refresh(given)).type, 'dead')
  const { state } = await rowOf(given)
  assert.equal(state.type === 'dead' && state.reason, 'refresh_token_reused')
  assert.equal((await choose(given, acme)).type, 'spent')
  assert.equal((await refresh(given)).type, 'dead')
  assert.equal(given.endpoint.requests.length, 2)
})

test('what will never work again is dead until renewed', async (context) => {
  for (const code of ['invalid_grant', 'refresh_token_reused', 'token_revoked', 'unauthorized_client']) {
    const given = await openOAuthFixture(context)
    given.endpoint.answer(() => ({ status: 400, body: { error: code, error_description: 'refresh-0 is no good' } }))
    const refreshed = await refresh(given)
    assert.deepEqual(refreshed, { type: 'dead', detail: `${code}: [secret] is no good` })
    const { label } = await rowOf(given)
    await addTokens(given, { label, secret: 'access-new', onSameLabel: 'replace' })
    assert.equal(await secretOf(given, acme), 'access-new')
  }
})

test('a vendor in trouble, a cut connection or nonsense kills nothing and leaves the claim free', async (context) => {
  const given = await openOAuthFixture(context)
  const troubles = [
    { status: 503, body: { error: 'invalid_grant' } },
    { status: 429, body: { error: 'invalid_grant' } },
    { status: 502, body: '<html>bad gateway</html>' },
    { status: 200, body: {} },
    { status: 400, body: { error: 'invalid_client' } },
    'cut' as const,
  ]
  for (const trouble of troubles) {
    given.endpoint.answer(() => trouble)
    assert.equal((await refresh(given)).type, 'failed', JSON.stringify(trouble))
    const { state, refreshingBy, refreshFailure } = await rowOf(given)
    assert.deepEqual([state.type, refreshingBy], ['ok', undefined])
    assert.ok(refreshFailure)
  }
  given.endpoint.answer(undefined)
  assert.equal((await refresh(given)).type, 'refreshed')
  assert.equal((await rowOf(given)).refreshFailure, undefined)
})

test('whoever waits for another process is told that it failed, instead of asking again at once', async (context) => {
  const given = await openOAuthFixture(context)
  const other = await given.join()
  given.endpoint.answer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    return { status: 503, body: {} }
  })
  const answers = await Promise.all([refresh(given), refresh({ ...other, id: given.id })])
  assert.deepEqual(
    answers.map(({ type }) => type),
    ['failed', 'failed'],
  )
  assert.equal(given.endpoint.requests.length, 1)
})

test('whoever stops waiting does not stop the renewal', async (context) => {
  const given = await openOAuthFixture(context)
  const leaving = new AbortController()
  given.endpoint.answer(() => {
    leaving.abort()
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1' } }
  })
  const left = given.pool.refresh(given.id, { failedSecret: 'access-0', signal: leaving.signal })
  const stayed = refresh(given)
  assert.equal((await left).type, 'failed')
  assert.equal((await stayed).type, 'refreshed')
  assert.equal(await secretOf(given, acme), 'access-1')
})

test('a new token is not lost to a full disk', async (context) => {
  const given = await openOAuthFixture(context)
  const { renew } = given.store.credentials
  let failures = 2
  given.store.credentials.renew = (...parameters) =>
    failures-- > 0 ? Promise.reject(new StorageError('full', 'the disk is full')) : renew(...parameters)
  assert.deepEqual(await refresh(given), { type: 'refreshed' })
  assert.equal(await secretOf(given, acme), 'access-1')
  assert.equal(given.faults.length, 1)
})

test('a token that has run out is renewed before it is granted, and one that cannot be is granted as it is', async (context) => {
  const given = await openOAuthFixture(context)
  const other = await addTokens(given, { expiresAt: NOW + 1_000, priority: -1 })
  assert.equal(await secretOf(given, acme), 'access-1')
  given.endpoint.answer(() => ({ status: 503, body: {} }))
  const late = { ...acme, at: NOW + 40_000 * 3_600_000, preferred: other }
  assert.equal(await secretOf(given, late), 'access-1')
  const asked = given.endpoint.requests.length
  assert.equal(await secretOf(given, late), 'access-1')
  assert.equal(given.endpoint.requests.length, asked)
})

test('turns that meet a token that has run out all wait for its one renewal', async (context) => {
  const given = await openOAuthFixture(context)
  await addTokens(given, { expiresAt: NOW + 1_000, priority: -1 })
  const secrets = await Promise.all(Array.from({ length: 5 }, () => secretOf(given, acme)))
  assert.deepEqual(new Set(secrets), new Set(['access-1']))
  assert.equal(given.endpoint.requests.length, 1)
})

test('a turn that is cancelled while a token is renewed keeps nobody else from renewing it', async (context) => {
  const given = await openOAuthFixture(context)
  const id = await addTokens(given, { expiresAt: NOW + 1_000, priority: -1 })
  const leaving = new AbortController()
  given.endpoint.answer(() => {
    leaving.abort()
    return { status: 503, body: {} }
  })
  const left = secretOf(given, { ...acme, signal: leaving.signal })
  const stayed = refresh({ ...given, id })
  assert.equal(await left, 'access-0', 'it has no use for a new one')
  assert.equal((await stayed).type, 'failed')
  given.endpoint.answer(() => ({ body: { access_token: 'access-1', refresh_token: 'refresh-1' } }))
  assert.equal(await secretOf(given, acme), 'access-1')
})

test('a new token is not lost to a key file that is refused for a while', async (context) => {
  const given = await openOAuthFixture(context)
  const key = join(given.home, 'secret.key')
  given.endpoint.answer(() => {
    chmodSync(key, 0o644)
    return { body: { access_token: 'access-1', refresh_token: 'refresh-1' } }
  })
  const refreshed = refresh(given)
  while (given.faults.length === 0) await new Promise((resolve) => setImmediate(resolve))
  chmodSync(key, 0o600)
  assert.deepEqual(await refreshed, { type: 'refreshed' })
  assert.equal(await secretOf(given, acme), 'access-1')
  chmodSync(key, 0o644)
  assert.equal((await refresh(given, 'access-1')).type, 'failed')
})

test('an API key that is stored has no newer secret', async (context) => {
  const given = await openPoolFixture(context)
  const id = await given.add({ secret: 'sk-1' })
  assert.equal((await granted(given)).canRefresh, false)
  assert.deepEqual(await refresh({ ...given, id }, 'sk-1'), { type: 'unchanged' })
})

test('on PostgreSQL two stores that refresh at once ask once', async (context) => {
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
  const given = await openOAuthFixture(context, { store: opened[0]!.store })
  const { credentials } = given.store
  await opened[0]!.store.credentials.add((await credentials.get(ORGANIZATION, given.id))!)
  const other = await given.join({ store: opened[1]!.store })
  const answers: RefreshResult[] = await Promise.all([
    refresh(given),
    refresh({ ...other, id: given.id }),
    refresh(given),
  ])
  assert.ok(answers.every(({ type }) => type === 'refreshed'))
  assert.equal(given.endpoint.requests.length, 1)
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

/** The claim is committed and the request has arrived: this is the worst moment. */
async function killWhileAsking({ child, go }: Refresher, endpoint: TokenEndpoint): Promise<void> {
  const asked = new Promise<void>((resolve) =>
    endpoint.answer(() => {
      resolve()
      return 'hang'
    }),
  )
  go()
  await asked
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}
