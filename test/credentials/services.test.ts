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

test('a credential is added, listed with a masked tail and what it rests for, and removed', async (context) => {
  const environment = [{ provider: 'openai', variable: 'OPENAI_API_KEY', read: () => 'sk-of-the-environment' }]
  const given = await openPoolFixture(context, { environment })
  const { desk: serviceContext } = given
  const added = await addCredential(
    { provider: ' openai ', secret: 'sk-0123456789-3f2a', label: 'work' },
    serviceContext,
  )
  assert.deepEqual([added.provider, added.hint, added.kind], ['openai', '…3f2a', 'api-key'])
  await addCredential({ provider: 'other', secret: 'short' }, serviceContext)
  await setCooldowns(given, { key: added.id, until: LATER })
  const all = await listCredentials(serviceContext)
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
  assert.deepEqual((await listCredentials(serviceContext, 'other')).environment, [])
  assert.equal((await removeCredential('work', serviceContext)).id, added.id)
  assert.deepEqual((await listCredentials(serviceContext, 'openai')).stored, [])
  await assert.rejects(removeCredential('work', serviceContext), isProblem('not-found'))
  await assert.rejects(removeCredential('credential-env-OPENAI_API_KEY', serviceContext), isProblem('conflict'))
})

test('a label is refused a second time, unless its secret is to be replaced', async (context) => {
  const given = await openPoolFixture(context)
  const request = { provider: 'openai', label: 'work', secret: 'sk-old' }
  const { id } = await addCredential(request, given.desk)
  await assert.rejects(addCredential({ ...request, secret: 'sk-new' }, given.desk), isProblem('conflict'))
  assert.equal(await secretOf(given), 'sk-old')
  const replaced = await addCredential({ ...request, secret: 'sk-new', onSameLabel: 'replace' }, given.desk)
  assert.deepEqual([replaced.id, replaced.generation], [id, 2])
  assert.equal(await secretOf(given), 'sk-new')
})

test('a label that several providers have must be told apart by id', async (context) => {
  const { desk: serviceContext } = await openPoolFixture(context)
  await addCredential({ provider: 'one', secret: 'x' }, serviceContext)
  await addCredential({ provider: 'two', secret: 'y' }, serviceContext)
  await assert.rejects(
    refreshCredential({ idOrLabel: 'default', signal: forever }, serviceContext),
    isProblem('conflict'),
  )
})

test('cooldowns are shown and can be cleared', async (context) => {
  const given = await openPoolFixture(context)
  const id = await given.add({})
  await setCooldowns(
    given,
    { key: id, until: LATER },
    { key: 'https://x.example', scope: 'endpoint', provider: 'other', until: LATER },
  )
  assert.equal((await listCooldowns(given.desk)).length, 2)
  assert.deepEqual(await clearCooldowns({ provider: 'openai' }, given.desk), { cleared: 1 })
  assert.deepEqual(
    (await listCooldowns(given.desk)).map(({ key }) => key),
    ['https://x.example'],
  )
  assert.deepEqual(await clearCooldowns({}, given.desk), { cleared: 1 })
})
