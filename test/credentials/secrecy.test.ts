import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import {
  addCredential,
  listCredentials,
  refreshCredential,
  removeCredential,
} from '../../src/service/credentials/credentials.ts'
import { choose, forever, granted, openPoolFixture } from './fixture-pool.ts'
import { startTokenEndpoint } from './fixture-token-endpoint.ts'

const SECRET = 'sk-very-secret-0123456789'
const REFRESH = 'rt-very-secret-0123456789'
const ENVIRONMENT = 'ek-very-secret-0123456789'
const NEW_SECRET = 'sn-very-secret-0123456789'

const assertNoSecretIn = (value: unknown, where: string) => {
  for (const text of [JSON.stringify(value), inspect(value, { depth: 9, showHidden: true }), String(value)])
    assert.doesNotMatch(text ?? '', /very-secret/, where)
}

const errorOf = async (work: Promise<unknown>): Promise<Error> => {
  try {
    await work
  } catch (error) {
    return error as Error
  }
  assert.fail('nothing was thrown')
}

test('no secret appears in a file of the home, a result, an error or a report', async (context) => {
  const endpoint = await startTokenEndpoint()
  context.after(endpoint.close)
  const environment = [{ provider: 'acme', variable: 'ACME_KEY', read: () => ENVIRONMENT }]
  const flows = { generic: { tokenUrl: `${endpoint.url}/token` } }
  const fixture = await openPoolFixture(context, { environment, flows })
  const { credentialContext, pool, store } = fixture
  const login = {
    provider: 'acme',
    label: 'login',
    secret: SECRET,
    refreshToken: REFRESH,
    oauth: { flow: 'generic' },
  }

  const added = await addCredential(login, credentialContext)
  assertNoSecretIn(added, 'what was added')
  assertNoSecretIn(await errorOf(addCredential(login, credentialContext)), 'a conflict of labels')
  assertNoSecretIn(await errorOf(addCredential({ ...login, provider: ' ' }, credentialContext)), 'a mistake')
  const unsealing = {
    ...credentialContext,
    credentialAdmin: { ...pool, box: { ...pool.box, seal: () => assert.fail('the key is damaged') } },
  }
  assertNoSecretIn(await errorOf(addCredential(login, unsealing)), 'a key that cannot seal')
  assertNoSecretIn(await choose(fixture, { provider: 'acme' }), 'a choice')
  assertNoSecretIn((await granted(fixture, { provider: 'acme' })).grant, 'a grant')
  assertNoSecretIn(await listCredentials(credentialContext), 'a list')
  assertNoSecretIn(pool.environment(), 'the environment')
  assertNoSecretIn(await store.credentials.get(ORGANIZATION, added.id), 'a row')

  const echo = { error: 'server_error', error_description: `cannot use ${REFRESH}` }
  endpoint.answer(() => ({ status: 400, body: echo }))
  assertNoSecretIn(
    await refreshCredential({ idOrLabel: 'login', signal: forever }, credentialContext),
    'a failed renewal',
  )
  endpoint.answer(() => 'cut')
  assertNoSecretIn(
    await refreshCredential({ idOrLabel: 'login', signal: forever }, credentialContext),
    'a renewal with a cut connection',
  )
  endpoint.answer(() => ({ body: { access_token: NEW_SECRET, refresh_token: REFRESH } }))
  assertNoSecretIn(await refreshCredential({ idOrLabel: 'login', signal: forever }, credentialContext), 'a renewal')
  endpoint.answer(() => ({ status: 400, body: { error: 'invalid_grant', error_description: `${REFRESH} is used` } }))
  assertNoSecretIn(
    await refreshCredential({ idOrLabel: 'login', signal: forever }, credentialContext),
    'a dead credential',
  )
  assertNoSecretIn(await choose(fixture, { provider: 'acme', setAside: ['credential-env-ACME_KEY'] }), 'a spent pool')
  assertNoSecretIn(await listCredentials(credentialContext), 'a list with a dead credential')
  assertNoSecretIn(await removeCredential('login', credentialContext), 'what was removed')
  assertNoSecretIn(fixture.faults, 'reports')

  for (const file of readdirSync(fixture.home))
    assert.equal(readFileSync(join(fixture.home, file), 'latin1').includes('very-secret'), false, file)
})

test('the secret of a grant is readable as a property, also in copies, and masked in JSON', async (context) => {
  const fixture = await openPoolFixture(context)
  await fixture.add({ secret: SECRET })
  const { grant } = await granted(fixture)
  assert.equal(grant.secret, SECRET)
  assert.equal({ ...grant }.secret, SECRET)
  assert.equal(JSON.parse(JSON.stringify(grant)).secret, '[secret]')
})
