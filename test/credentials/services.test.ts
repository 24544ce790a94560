import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem, type ProblemKind } from '../../src/core/problem.ts'
import { clearCooldowns, listCooldowns } from '../../src/service/credentials/cooldowns.ts'
import {
  addCredential,
  listCredentials,
  refreshCredential,
  removeCredential,
} from '../../src/service/credentials/credentials.ts'
import { forever, NOW, openPoolFixture, secretOf, setCooldowns } from './fixture-pool.ts'

const LATER = NOW + 100 * 365 * 86_400_000
const isProblem = (kind: ProblemKind) => (error: unknown) => error instanceof Problem && error.kind === kind

test('a credential is added, listed with a masked tail and its cooldown, and removed', async (context) => {
  const environment = [{ provider: 'openai', variable: 'OPENAI_API_KEY', read: () => 'sk-of-the-environment' }]
  const fixture = await openPoolFixture(context, { environment })
  const { credentialContext } = fixture
  const added = await addCredential(
    { provider: ' openai ', secret: 'sk-0123456789-3f2a', label: 'work' },
    credentialContext,
  )
  assert.deepEqual([added.provider, added.hint, added.kind], ['openai', '…3f2a', 'api-key'])
  await addCredential({ provider: 'other', secret: 'short' }, credentialContext)
  await setCooldowns(fixture, { key: added.id, until: LATER })
  const all = await listCredentials(credentialContext)
  assert.deepEqual(
    all.stored.map(({ label, hint, cooldown }) => [label, hint, cooldown?.until]),
    [
      ['work', '…3f2a', LATER],
      ['default', '…', undefined],
    ],
  )
  assert.deepEqual(all.environment, [
    { id: 'credential-env-OPENAI_API_KEY', provider: 'openai', variable: 'OPENAI_API_KEY', hint: '…ment' },
  ])
  assert.deepEqual((await listCredentials(credentialContext, 'other')).environment, [])
  assert.equal((await removeCredential('work', credentialContext)).id, added.id)
  assert.deepEqual((await listCredentials(credentialContext, 'openai')).stored, [])
  await assert.rejects(removeCredential('work', credentialContext), isProblem('not-found'))
  await assert.rejects(removeCredential('credential-env-OPENAI_API_KEY', credentialContext), isProblem('conflict'))
})

test('a label is rejected a second time, unless the request replaces its secret', async (context) => {
  const fixture = await openPoolFixture(context)
  const request = { provider: 'openai', label: 'work', secret: 'sk-old' }
  const { id } = await addCredential(request, fixture.credentialContext)
  await assert.rejects(
    addCredential({ ...request, secret: 'sk-new' }, fixture.credentialContext),
    isProblem('conflict'),
  )
  assert.equal(await secretOf(fixture), 'sk-old')
  const replaced = await addCredential(
    { ...request, secret: 'sk-new', onSameLabel: 'replace' },
    fixture.credentialContext,
  )
  assert.deepEqual([replaced.id, replaced.generation], [id, 2])
  assert.equal(await secretOf(fixture), 'sk-new')
})

test('a label that several providers share is ambiguous and needs an id', async (context) => {
  const { credentialContext } = await openPoolFixture(context)
  await addCredential({ provider: 'one', secret: 'x' }, credentialContext)
  await addCredential({ provider: 'two', secret: 'y' }, credentialContext)
  await assert.rejects(
    refreshCredential({ idOrLabel: 'default', signal: forever }, credentialContext),
    isProblem('conflict'),
  )
})

test('cooldowns are listed and can be cleared', async (context) => {
  const fixture = await openPoolFixture(context)
  const id = await fixture.add({})
  await setCooldowns(
    fixture,
    { key: id, until: LATER },
    { key: 'https://x.example', scope: 'endpoint', provider: 'other', until: LATER },
  )
  assert.equal((await listCooldowns(fixture.credentialContext)).length, 2)
  assert.deepEqual(await clearCooldowns({ provider: 'openai' }, fixture.credentialContext), { cleared: 1 })
  assert.deepEqual(
    (await listCooldowns(fixture.credentialContext)).map(({ key }) => key),
    ['https://x.example'],
  )
  assert.deepEqual(await clearCooldowns({}, fixture.credentialContext), { cleared: 1 })
})
