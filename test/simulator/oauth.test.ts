import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Simulator } from '../../src/simulator/start-simulator.ts'
import { askChat, post, simulatorFixture } from './fixture-simulator.ts'

type TokenAnswer = { access_token: string; refresh_token: string; error?: unknown; error_description?: string }

async function ask({ url }: Simulator, form: Record<string, string>): Promise<{ status: number; body: TokenAnswer }> {
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  return { status: response.status, body: (await response.json()) as TokenAnswer }
}

const refresh = (simulator: Simulator, refresh_token: string) =>
  ask(simulator, { grant_type: 'refresh_token', refresh_token })
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

test('a refresh token works once: the response has the next one, and the old one is refused', async (context) => {
  const simulator = await simulatorFixture(context)
  const { refresh_token } = simulator.oauth.issue()
  const first = await refresh(simulator, refresh_token)
  assert.equal(first.status, 200)
  assert.notEqual(first.body.refresh_token, refresh_token)
  const again = await refresh(simulator, refresh_token)
  assert.equal(again.status, 400)
  assert.equal(again.body.error, 'invalid_grant')
  assert.match(again.body.error_description ?? '', /refresh_token_reused/)
  assert.equal((await refresh(simulator, first.body.refresh_token)).status, 200)
})

test('of two concurrent uses of a refresh token, one is refused', async (context) => {
  const simulator = await simulatorFixture(context)
  const { refresh_token } = simulator.oauth.issue()
  const both = await Promise.all([refresh(simulator, refresh_token), refresh(simulator, refresh_token)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400])
})

test('a Codex refusal has its code inside the error', async (context) => {
  const simulator = await simulatorFixture(context)
  simulator.oauth.settings.errors = 'codex'
  const { refresh_token } = simulator.oauth.issue()
  await refresh(simulator, refresh_token)
  const again = await refresh(simulator, refresh_token)
  assert.equal(again.status, 401)
  assert.equal((again.body.error as { code: string }).code, 'refresh_token_reused')
})

test('an issued token is accepted, and a refresh may revoke the old one', async (context) => {
  const simulator = await simulatorFixture(context, { keys: { other: 'valid' } })
  simulator.oauth.settings.revokesOnRefresh = true
  const { access_token, refresh_token } = simulator.oauth.issue()
  assert.equal((await askChat(simulator, { key: access_token })).status, 200)
  const { body } = await refresh(simulator, refresh_token)
  assert.equal((await askChat(simulator, { key: access_token })).status, 401)
  assert.equal((await askChat(simulator, { key: body.access_token })).status, 200)
})

test('an authorization code works once, and only with its verifier', async (context) => {
  const simulator = await simulatorFixture(context)
  const verifier = 'a-long-enough-secret'
  const query = new URLSearchParams({
    redirect_uri: 'http://localhost:1455/callback',
    state: 'xyz',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  })
  const sent = await fetch(`${simulator.url}/oauth/authorize?${query}`, { redirect: 'manual' })
  const target = new URL(sent.headers.get('location')!)
  assert.deepEqual([sent.status, target.searchParams.get('state')], [302, 'xyz'])
  const form = { grant_type: 'authorization_code', code: target.searchParams.get('code')! }
  assert.equal((await ask(simulator, { ...form, code_verifier: 'wrong' })).body.error, 'invalid_grant')
  assert.equal((await ask(simulator, { ...form, code_verifier: verifier })).status, 200)
  assert.equal((await ask(simulator, { ...form, code_verifier: verifier })).body.error, 'invalid_grant')
})

test('a device is approved after a number of polls or explicitly', async (context) => {
  const simulator = await simulatorFixture(context)
  const start = async () =>
    (await (await post(`${simulator.url}/oauth/device/code`, {})).json()) as Record<string, string>
  const poll = async (device_code: string) => {
    const { status, body } = await ask(simulator, { grant_type: DEVICE, device_code })
    return body.error ?? status
  }
  const counted = await start()
  assert.deepEqual([await poll(counted.device_code!), await poll(counted.device_code!)], ['authorization_pending', 200])
  simulator.oauth.settings.pendingPolls = 'never'
  const visited = await start()
  assert.deepEqual(
    [await poll(visited.device_code!), await poll(visited.device_code!)],
    ['authorization_pending', 'authorization_pending'],
  )
  assert.equal((await fetch(visited.verification_uri_complete!)).status, 200)
  assert.equal(await poll(visited.device_code!), 200)
  const denied = await start()
  simulator.oauth.deny(denied.user_code!)
  assert.equal(await poll(denied.device_code!), 'access_denied')
})

test('token requests may be JSON, and the endpoint can be scripted to fail', async (context) => {
  const simulator = await simulatorFixture(context)
  const { refresh_token } = simulator.oauth.issue()
  simulator.script({ when: { protocol: 'oauth' }, times: 1, answer: { status: 503 } })
  const body = { grant_type: 'refresh_token', refresh_token }
  assert.equal((await post(`${simulator.url}/v1/oauth/token`, body)).status, 503)
  assert.equal((await post(`${simulator.url}/v1/oauth/token`, body)).status, 200)
})

test('the account reports paid access, which can change', async (context) => {
  const simulator = await simulatorFixture(context)
  const access = async (path: string) => {
    const body = (await (await fetch(simulator.url + path)).json()) as { paid_service_access: { allowed: boolean } }
    return body.paid_service_access.allowed
  }
  assert.equal(await access('/account'), true)
  simulator.account.paidServiceAccess = false
  assert.equal(await access('/api/oauth/account'), false)
})

test('each Copilot exchange issues a new accepted token', async (context) => {
  const simulator = await simulatorFixture(context, { keys: { gho_known: 'valid' } })
  const swap = async (token: string) => {
    const headers = { authorization: `token ${token}` }
    const response = await fetch(`${simulator.url}/copilot_internal/v2/token`, { headers })
    return { status: response.status, body: (await response.json()) as { token: string; endpoints: { api: string } } }
  }
  const [first, second] = [await swap('gho_known'), await swap('gho_known')]
  assert.notEqual(first.body.token, second.body.token)
  assert.equal(first.body.endpoints.api, simulator.url)
  assert.equal((await askChat(simulator, { key: second.body.token })).status, 200)
  assert.equal((await swap('gho_unknown')).status, 401)
})
