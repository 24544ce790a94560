import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import type { DeviceFlow, DeviceOutcome } from '../../src/ports/credential-admin.ts'
import type { FlowOverrides } from '../../src/providers/credentials/oauth-flows.ts'
import { forever, granted, openPoolFixture, type PoolFixture } from './fixture-pool.ts'
import { startTokenEndpoint, type TokenEndpointReply, type TokenEndpointRequest } from './fixture-token-endpoint.ts'

async function openVendorFixture(
  context: TestContext,
  routes: Record<string, (request: TokenEndpointRequest) => TokenEndpointReply>,
) {
  const endpoint = await startTokenEndpoint()
  context.after(endpoint.close)
  endpoint.answer((request) => routes[request.path]?.(request) ?? { status: 404, body: {} })
  const at = (path: string) => `${endpoint.url}${path}`
  const flows: FlowOverrides = {
    codex: {
      tokenUrl: at('/token'),
      device: {
        type: 'codex',
        codeUrl: at('/usercode'),
        pollUrl: at('/poll'),
        verificationUrl: 'https://vendor.example/device',
        redirectUri: 'https://vendor.example/callback',
      },
    },
    anthropic: { tokenUrl: at('/token') },
    nous: {
      tokenUrl: at('/token'),
      accountUrl: at('/account'),
      device: { type: 'standard', codeUrl: at('/code') },
    },
    copilot: {
      tokenUrl: at('/token'),
      exchangeUrl: at('/exchange'),
      device: { type: 'standard', codeUrl: at('/code') },
    },
  }
  return { ...(await openPoolFixture(context, { flows })), endpoint }
}

const addTokens = (pool: Pick<PoolFixture, 'add'>, flow: string) =>
  pool.add({ provider: flow, secret: 'access-0', refreshToken: 'refresh-0', oauth: { flow } })

const deviceCode = (): TokenEndpointReply => ({
  body: {
    device_code: 'device-1',
    user_code: 'ABCD-EFGH',
    verification_uri: 'https://vendor.example/login',
    interval: 0,
    expires_in: 600,
  },
})

async function start({ pool }: PoolFixture, provider: string): Promise<DeviceFlow> {
  const started = await pool.startDeviceFlow(provider, { label: 'mine', signal: forever })
  assert.equal(started.type, 'started', JSON.stringify(started))
  return (started as Extract<typeof started, { type: 'started' }>).flow
}

const poll = async (pool: PoolFixture, provider: string): Promise<DeviceOutcome> =>
  (await start(pool, provider)).poll(forever)

const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`

test('Codex: each request carries the account id of the token', async (context) => {
  const id_token = token({ 'https://api.openai.com/auth': { chatgpt_account_id: 'account-7' } })
  const vendor = await openVendorFixture(context, {
    '/token': () => ({ body: { access_token: 'access-1', refresh_token: 'refresh-1', id_token } }),
  })
  const id = await addTokens(vendor, 'codex')
  await vendor.pool.refresh(id, { failedSecret: 'access-0', signal: forever })
  const { grant } = await granted(vendor, { provider: 'codex' })
  assert.deepEqual([grant.secret, grant.kind], ['access-1', 'oauth'])
  assert.deepEqual(grant.headers, { 'chatgpt-account-id': 'account-7' })
})

test('Anthropic: the refresh request is JSON, and each model request carries the OAuth beta', async (context) => {
  const vendor = await openVendorFixture(context, { '/token': () => ({ body: { access_token: 'access-1' } }) })
  const id = await addTokens(vendor, 'anthropic')
  await vendor.pool.refresh(id, { failedSecret: 'access-0', signal: forever })
  assert.equal(vendor.endpoint.requests[0]!.headers['content-type'], 'application/json')
  const { grant } = await granted(vendor, { provider: 'anthropic' })
  assert.deepEqual([grant.secret, grant.headers], ['access-1', { 'anthropic-beta': 'oauth-2025-04-20' }])
  // The vendor sent no new refresh token, so the old one stays valid.
  await vendor.pool.refresh(id, { failedSecret: 'access-1', signal: forever })
  assert.equal(vendor.endpoint.requests[1]!.fields.refresh_token, 'refresh-0')
})

test('Copilot: the login is exchanged repeatedly for a short-lived token with its own base URL', async (context) => {
  let round = 0
  const vendor = await openVendorFixture(context, {
    '/exchange': () => ({
      body: {
        token: `access-${++round}`,
        expires_at: Date.now() / 1_000 + 1_800,
        endpoints: { api: 'https://copilot.example' },
      },
    }),
  })
  const id = await addTokens(vendor, 'copilot')
  for (const failedSecret of ['access-0', 'access-1'])
    assert.deepEqual(await vendor.pool.refresh(id, { failedSecret, signal: forever }), { type: 'refreshed' })
  const [request] = vendor.endpoint.requests
  assert.deepEqual([request!.method, request!.headers.authorization], ['GET', 'token refresh-0'])
  const { grant } = await granted(vendor, { provider: 'copilot' })
  assert.deepEqual([grant.secret, grant.baseUrl], ['access-2', 'https://copilot.example'])
  assert.ok(grant.headers?.['copilot-integration-id'])
})

test('Copilot: a login that the vendor revoked is dead', async (context) => {
  const vendor = await openVendorFixture(context, {
    '/exchange': () => ({ status: 401, body: { message: 'Bad credentials' } }),
  })
  const id = await addTokens(vendor, 'copilot')
  assert.equal((await vendor.pool.refresh(id, { failedSecret: 'access-0', signal: forever })).type, 'dead')
})

test('Nous: the token is renewed for a paid account only, and the account is checked each time', async (context) => {
  let account: unknown = { paid_service_access: { allowed: false } }
  const vendor = await openVendorFixture(context, {
    '/account': () => ({ body: account }),
    '/token': () => ({ body: { access_token: 'access-1', inference_base_url: 'https://nous.example/v1' } }),
  })
  const id = await addTokens(vendor, 'nous')
  assert.equal((await granted(vendor, { provider: 'nous' })).canRefreshEntitlement, true)
  const renew = () => vendor.pool.refresh(id, { failedSecret: '', signal: forever, entitlement: true })
  const tokenRequests = () => vendor.endpoint.requests.filter(({ path }) => path === '/token').length
  assert.deepEqual(await renew(), { type: 'unchanged' })
  account = {}
  assert.deepEqual(await renew(), { type: 'unchanged' })
  assert.equal(tokenRequests(), 0)
  account = { paid_service_access: { allowed: true } }
  assert.deepEqual(await renew(), { type: 'refreshed' })
  assert.equal(tokenRequests(), 1)
  assert.equal(vendor.endpoint.requests[0]!.headers.authorization, 'Bearer access-0')
  assert.equal((await granted(vendor, { provider: 'nous' })).grant.baseUrl, 'https://nous.example/v1')
})

test('a device login waits for the user and is stored', async (context) => {
  const answers: TokenEndpointReply[] = [
    { status: 400, body: { error: 'authorization_pending' } },
    'cut',
    { body: { access_token: 'access-1', refresh_token: 'refresh-1', expires_in: 3_600 } },
  ]
  const vendor = await openVendorFixture(context, { '/code': deviceCode, '/token': () => answers.shift()! })
  const flow = await start(vendor, 'nous')
  assert.deepEqual([flow.userCode, flow.verificationUrl], ['ABCD-EFGH', 'https://vendor.example/login'])
  const outcome = await flow.poll(forever)
  assert.equal(outcome.type, 'stored')
  const { grant, canRefresh } = await granted(vendor, { provider: 'nous' })
  assert.deepEqual([grant.secret, canRefresh], ['access-1', true])
})

test('a second login under the same label revives a dead credential', async (context) => {
  let round = 0
  const vendor = await openVendorFixture(context, {
    '/code': deviceCode,
    '/token': () => ({ body: { access_token: `access-${++round}`, refresh_token: `refresh-${round}` } }),
  })
  const first = await poll(vendor, 'nous')
  assert.ok(first.type === 'stored')
  await vendor.store.credentials.markDead(first.credentialId, { generation: 1, reason: 'x', detail: 'x', at: 0 })
  assert.deepEqual(await poll(vendor, 'nous'), first)
  assert.equal((await granted(vendor, { provider: 'nous' })).grant.secret, 'access-2')
  assert.equal((await vendor.store.credentials.list(ORGANIZATION)).length, 1)
})

test('a device login of Codex exchanges an authorization code for tokens', async (context) => {
  let polls = 0
  const vendor = await openVendorFixture(context, {
    '/usercode': () => ({ body: { device_auth_id: 'device-1', user_code: 'ABCD', interval: '0' } }),
    '/poll': () =>
      ++polls < 2 ? { status: 403, body: {} } : { body: { authorization_code: 'code-1', code_verifier: 'verifier-1' } },
    '/token': () => ({ body: { access_token: 'access-1', refresh_token: 'refresh-1' } }),
  })
  assert.equal((await poll(vendor, 'codex')).type, 'stored')
  const { fields } = vendor.endpoint.requests.at(-1)!
  assert.deepEqual(
    [fields.grant_type, fields.code, fields.code_verifier],
    ['authorization_code', 'code-1', 'verifier-1'],
  )
})

test('a device login of Copilot stores the long-lived token for later exchanges', async (context) => {
  const vendor = await openVendorFixture(context, {
    '/code': deviceCode,
    '/token': () => ({ body: { access_token: 'github-1' } }),
    '/exchange': () => ({ body: { token: 'access-1', expires_at: Date.now() / 1_000 + 1_800 } }),
  })
  const outcome = await poll(vendor, 'copilot')
  assert.ok(outcome.type === 'stored')
  assert.equal((await granted(vendor, { provider: 'copilot' })).grant.secret, 'access-1')
  await vendor.pool.refresh(outcome.credentialId, { failedSecret: 'access-1', signal: forever })
  assert.equal(vendor.endpoint.requests.at(-1)!.headers.authorization, 'token github-1')
})

test('a denied, expired, canceled or unsupported login is reported as such', async (context) => {
  const refusing = (error: string) =>
    openVendorFixture(context, { '/code': deviceCode, '/token': () => ({ status: 400, body: { error } }) })
  assert.deepEqual(await poll(await refusing('access_denied'), 'nous'), { type: 'denied' })
  assert.deepEqual(await poll(await refusing('expired_token'), 'nous'), { type: 'expired' })
  assert.equal((await poll(await refusing('invalid_client'), 'nous')).type, 'failed')
  const pending = await refusing('authorization_pending')
  const flow = await start(pending, 'nous')
  const cancelling = new AbortController()
  const outcome = flow.poll(cancelling.signal)
  cancelling.abort()
  assert.deepEqual(await outcome, { type: 'cancelled' })
  const { pool } = await openVendorFixture(context, {})
  const options = { label: 'mine', signal: forever }
  assert.deepEqual(await pool.startDeviceFlow('anthropic', options), { type: 'unsupported' })
  assert.deepEqual(await pool.startDeviceFlow('nobody', options), { type: 'unsupported' })
  assert.equal((await pool.startDeviceFlow('nous', options)).type, 'failed')
})
