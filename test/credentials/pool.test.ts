import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cooldownFor } from '../../src/core/cooldown.ts'
import type { CredentialId } from '../../src/core/credential.ts'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import { environmentSources } from '../../src/providers/credentials/environment-keys.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'
import {
  choose,
  forever,
  granted,
  NOW,
  openPoolFixture,
  type PoolFixture,
  secretOf,
  setCooldowns,
} from './fixture-pool.ts'

const variable = (name: string, read: () => string | undefined, provider = 'openai') => ({
  provider,
  variable: name,
  read,
})

async function addThree(fixture: PoolFixture): Promise<CredentialId[]> {
  const first = await fixture.add({ label: 'a', secret: 'secret-a', priority: 1 })
  const second = await fixture.add({ label: 'b', secret: 'secret-b', priority: 2 })
  return [first, second, await fixture.add({ label: 'c', secret: 'secret-c', priority: 3 })]
}

const takeSecrets = async (fixture: PoolFixture, times: number): Promise<string> => {
  const taken: string[] = []
  for (let turn = 0; turn < times; turn++) taken.push((await secretOf(fixture)).slice(-1))
  return taken.join('')
}

test('a provider without credentials needs none', async (context) => {
  assert.deepEqual(await choose(await openPoolFixture(context)), { type: 'none' })
})

test('fill_first takes the first that can serve, by priority', async (context) => {
  const given = await openPoolFixture(context)
  const [first, second] = await addThree(given)
  assert.equal(await takeSecrets(given, 3), 'aaa')
  assert.equal(await secretOf(given, { setAside: [first!] }), 'secret-b')
  assert.equal((await granted(given, { setAside: [first!, second!] })).siblings, 0)
})

test('round_robin takes one after the other, also past one that cannot serve', async (context) => {
  const given = await openPoolFixture(context, { strategies: { openai: 'round_robin' } })
  const [, second] = await addThree(given)
  assert.equal(await takeSecrets(given, 4), 'abca')
  await setCooldowns(given, { key: second! })
  assert.equal(await takeSecrets(given, 3), 'cac')
})

test('least_used takes the one that was used least, counting what is not written yet', async (context) => {
  const given = await openPoolFixture(context, { strategies: { openai: 'least_used' } })
  const [first] = await addThree(given)
  await given.store.credentials.countUses([{ id: first!, uses: 1, at: NOW }])
  assert.equal(await takeSecrets(given, 5), 'bcabc')
})

test('random follows chance', async (context) => {
  const chances = [0.99, 0, 0.5]
  const randomness = { uuid: () => crypto.randomUUID(), fraction: () => chances.shift() ?? 0 }
  const given = await openPoolFixture(context, { strategies: { openai: 'random' }, randomness })
  await addThree(given)
  assert.equal(await takeSecrets(given, 3), 'cab')
})

test('the credential of this turn stays, under every strategy, as long as it can serve', async (context) => {
  for (const strategy of ['fill_first', 'round_robin', 'least_used', 'random'] as const) {
    const given = await openPoolFixture(context, { strategies: { openai: strategy } })
    const [, second] = await addThree(given)
    const preferred = second!
    for (let turn = 0; turn < 3; turn++) assert.equal(await secretOf(given, { preferred }), 'secret-b')
    await setCooldowns(given, { key: preferred })
    assert.notEqual(await secretOf(given, { preferred }), 'secret-b')
  }
})

test('a failure is charged to the credential that made the request, whoever would be chosen by then', async (context) => {
  const given = await openPoolFixture(context, { strategies: { openai: 'round_robin' } })
  const [first] = await addThree(given)
  const used = await granted(given)
  await granted(given)
  const failure = { kind: 'rate-limited', detail: 'slow down' } as const
  const use = { failure, grantId: used.grant.credentialId, provider: 'openai', siblings: used.siblings, at: NOW }
  await setCooldowns(given, cooldownFor({ ...use, runId: 'run-x' })!)
  assert.deepEqual(
    (await given.store.cooldowns.list(ORGANIZATION, NOW)).map(({ key }) => key),
    [first],
  )
  assert.equal(await takeSecrets(given, 4), 'cbcb')
})

test('when all rest, the earliest end and its reason are told; when it is over, the record is still known', async (context) => {
  const given = await openPoolFixture(context)
  const [first, second, third] = await addThree(given)
  const early = { key: second!, until: NOW + 1_000, reason: 'quota-exhausted', detail: 'broke' } as const
  await setCooldowns(given, { key: first! }, early, { key: third! })
  const { until, reason, detail } = early
  assert.deepEqual(await choose(given), { type: 'cooling', until, reason, detail })
  const after = await granted(given, { at: until })
  assert.deepEqual([after.grant.credentialId, after.hasCooldown, after.siblings], [second, true, 0])
})

test('what is set aside or dead is spent, and the reason is told', async (context) => {
  const given = await openPoolFixture(context)
  const id = await given.add({ label: 'mine' })
  assert.deepEqual(await choose(given, { setAside: [id] }), {
    type: 'spent',
    detail: 'no credential is left (1 already tried in this step)',
  })
  await given.store.credentials.markDead(id, { generation: 1, reason: 'token_revoked', detail: 'revoked', at: NOW })
  assert.deepEqual(await choose(given), { type: 'spent', detail: 'no credential is left (mine: revoked)' })
})

test('a variable may hold several keys, and comes after what was stored', async (context) => {
  const environment = [variable('OPENAI_API_KEY', () => 'one, two,,one'), variable('OTHER', () => 'x', 'other')]
  const given = await openPoolFixture(context, { environment })
  const first = await granted(given)
  assert.deepEqual([first.grant.credentialId, first.grant.secret], ['credential-env-OPENAI_API_KEY', 'one'])
  assert.equal(first.siblings, 1)
  await setCooldowns(given, { key: 'credential-env-OPENAI_API_KEY' })
  assert.equal((await granted(given)).grant.credentialId, 'credential-env-OPENAI_API_KEY-2')
  await given.add({ secret: 'stored' })
  assert.equal(await secretOf(given), 'stored')
})

test('a key file is read again: a new key counts at once, the same one is unchanged', async (context) => {
  const faults: unknown[] = []
  const given = await openPoolFixture(context)
  const file = join(given.home, 'key')
  const read = environmentSources(
    { OPENAI_API_KEY_FILE: file },
    [{ provider: 'openai', variable: 'OPENAI_API_KEY' }],
    (fault) => faults.push(fault),
  )
  const { pool } = await given.join({ environment: read })
  assert.deepEqual(await choose({ pool }), { type: 'none' })
  assert.equal(faults.length, 1)
  writeFileSync(file, 'old-key\n')
  const { grant, canRefresh } = await granted({ pool })
  assert.deepEqual([grant.secret, canRefresh], ['old-key', true])
  const again = () => pool.refresh(grant.credentialId, { failedSecret: 'old-key', signal: forever })
  assert.deepEqual(await again(), { type: 'unchanged' })
  writeFileSync(file, 'new-key\n')
  assert.deepEqual(await again(), { type: 'refreshed' })
  assert.equal(await secretOf({ pool }), 'new-key')
})

test('the same key under two names is one credential, and rests under both', async (context) => {
  const given = await openPoolFixture(context, { environment: [variable('OPENAI_API_KEY', () => 'same-key')] })
  const id = await given.add({ secret: 'same-key' })
  assert.equal((await granted(given)).siblings, 0)
  await setCooldowns(given, { key: 'credential-env-OPENAI_API_KEY' })
  assert.equal((await choose(given)).type, 'cooling')
  assert.equal((await choose(given, { setAside: [id] })).type, 'spent')
})

test('many uses cost few writes, and are all counted in the end', async (context) => {
  const clock = newVirtualClock()
  const given = await openPoolFixture(context, { clock })
  const id = await given.add({})
  let writes = 0
  const { countUses } = given.store.credentials
  given.store.credentials.countUses = (uses) => {
    writes++
    return countUses(uses)
  }
  for (let use = 0; use < 50; use++) {
    await granted(given)
    await clock.settle()
  }
  assert.equal(writes, 1)
  await clock.advance(5_000)
  await granted(given)
  assert.equal(writes, 2)
  await given.pool.flush()
  await given.pool.flush()
  assert.equal((await given.store.credentials.get(ORGANIZATION, id))?.useCount, 51)
})

test('cooldowns that ended long ago are swept by whoever chooses', async (context) => {
  const given = await openPoolFixture(context)
  const id = await given.add({})
  await setCooldowns(given, { key: id, until: NOW })
  assert.equal((await granted(given, { at: NOW + 1_000 })).hasCooldown, true)
  await granted(given, { at: NOW + 2 * 3_600_000 })
  await given.store.cooldowns.clear(ORGANIZATION, { provider: 'nobody' })
  assert.equal((await granted(given, { at: NOW + 2 * 3_600_000 })).hasCooldown, false)
})

test('a credential sealed with a key that is not here is passed over and named', async (context) => {
  const given = await openPoolFixture(context)
  const elsewhere = await openPoolFixture(context)
  const id = await given.add({ label: 'mine' })
  const { sealed } = (await given.store.credentials.get(ORGANIZATION, id))!
  const foreign = elsewhere.keys.box.seal('sk', id)
  await given.store.credentials.reseal(id, sealed, { secret: foreign })
  const choice = await choose(given)
  assert.equal(choice.type, 'spent')
  assert.match(JSON.stringify(choice), /mine: its secret cannot be opened with the key file/)
})

test('a key file that is refused keeps stored credentials out, says why, and leaves the environment alone', async (context) => {
  let key: string | undefined
  const given = await openPoolFixture(context, { environment: [variable('OPENAI_API_KEY', () => key)] })
  await given.add({ label: 'mine' })
  chmodSync(join(given.home, 'secret.key'), 0o644)
  const choice = await choose(given)
  assert.equal(choice.type, 'spent')
  assert.match(JSON.stringify(choice), /mine: The key file .* can be read by other users/)
  key = 'sk-environment'
  assert.equal(await secretOf(given), 'sk-environment')
})
