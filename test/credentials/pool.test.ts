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

test('a pool without credentials answers with none', async (context) => {
  assert.deepEqual(await choose(await openPoolFixture(context)), { type: 'none' })
})

test('fill_first picks the first usable credential, by priority', async (context) => {
  const fixture = await openPoolFixture(context)
  const [first, second] = await addThree(fixture)
  assert.equal(await takeSecrets(fixture, 3), 'aaa')
  assert.equal(await secretOf(fixture, { setAside: [first!] }), 'secret-b')
  assert.equal((await granted(fixture, { setAside: [first!, second!] })).siblings, 0)
})

test('round_robin picks one after the other and skips unusable ones', async (context) => {
  const fixture = await openPoolFixture(context, { strategies: { openai: 'round_robin' } })
  const [, second] = await addThree(fixture)
  assert.equal(await takeSecrets(fixture, 4), 'abca')
  await setCooldowns(fixture, { key: second! })
  assert.equal(await takeSecrets(fixture, 3), 'cac')
})

test('least_used picks the least used credential, counting uses that are not written yet', async (context) => {
  const fixture = await openPoolFixture(context, { strategies: { openai: 'least_used' } })
  const [first] = await addThree(fixture)
  await fixture.store.credentials.countUses([{ id: first!, uses: 1, at: NOW }])
  assert.equal(await takeSecrets(fixture, 5), 'bcabc')
})

test('random picks by the random number', async (context) => {
  const chances = [0.99, 0, 0.5]
  const randomness = { uuid: () => crypto.randomUUID(), fraction: () => chances.shift() ?? 0 }
  const fixture = await openPoolFixture(context, { strategies: { openai: 'random' }, randomness })
  await addThree(fixture)
  assert.equal(await takeSecrets(fixture, 3), 'cab')
})

test('every strategy keeps the credential of the turn while it is usable', async (context) => {
  for (const strategy of ['fill_first', 'round_robin', 'least_used', 'random'] as const) {
    const fixture = await openPoolFixture(context, { strategies: { openai: strategy } })
    const [, second] = await addThree(fixture)
    const preferred = second!
    for (let turn = 0; turn < 3; turn++) assert.equal(await secretOf(fixture, { preferred }), 'secret-b')
    await setCooldowns(fixture, { key: preferred })
    assert.notEqual(await secretOf(fixture, { preferred }), 'secret-b')
  }
})

test('a failure sets the cooldown of the credential that made the request, not of the next one', async (context) => {
  const fixture = await openPoolFixture(context, { strategies: { openai: 'round_robin' } })
  const [first] = await addThree(fixture)
  const used = await granted(fixture)
  await granted(fixture)
  const failure = { kind: 'rate-limited', detail: 'slow down' } as const
  const use = { failure, grantId: used.grant.credentialId, provider: 'openai', siblings: used.siblings, at: NOW }
  await setCooldowns(fixture, cooldownFor({ ...use, runId: 'run-x' })!)
  assert.deepEqual(
    (await fixture.store.cooldowns.list(ORGANIZATION, NOW)).map(({ key }) => key),
    [first],
  )
  assert.equal(await takeSecrets(fixture, 4), 'cbcb')
})

test('when all credentials cool down, the earliest end and its reason are reported; afterwards the record is still known', async (context) => {
  const fixture = await openPoolFixture(context)
  const [first, second, third] = await addThree(fixture)
  const early = { key: second!, until: NOW + 1_000, reason: 'quota-exhausted', detail: 'broke' } as const
  await setCooldowns(fixture, { key: first! }, early, { key: third! })
  const { until, reason, detail } = early
  assert.deepEqual(await choose(fixture), { type: 'cooling', until, reason, detail })
  const after = await granted(fixture, { at: until })
  assert.deepEqual([after.grant.credentialId, after.hasCooldown, after.siblings], [second, true, 0])
})

test('a pool whose credentials are all tried or dead is spent, and the reason is reported', async (context) => {
  const fixture = await openPoolFixture(context)
  const id = await fixture.add({ label: 'mine' })
  assert.deepEqual(await choose(fixture, { setAside: [id] }), {
    type: 'spent',
    detail: 'no credential is left (1 already tried in this step)',
  })
  await fixture.store.credentials.markDead(id, { generation: 1, reason: 'token_revoked', detail: 'revoked', at: NOW })
  assert.deepEqual(await choose(fixture), { type: 'spent', detail: 'no credential is left (mine: revoked)' })
})

test('a variable may hold several keys, and stored credentials come first', async (context) => {
  const environment = [variable('OPENAI_API_KEY', () => 'one, two,,one'), variable('OTHER', () => 'x', 'other')]
  const fixture = await openPoolFixture(context, { environment })
  const first = await granted(fixture)
  assert.deepEqual([first.grant.credentialId, first.grant.secret], ['credential-env-OPENAI_API_KEY', 'one'])
  assert.equal(first.siblings, 1)
  await setCooldowns(fixture, { key: 'credential-env-OPENAI_API_KEY' })
  assert.equal((await granted(fixture)).grant.credentialId, 'credential-env-OPENAI_API_KEY-2')
  await fixture.add({ secret: 'stored' })
  assert.equal(await secretOf(fixture), 'stored')
})

test('a key file is read again: a new key takes effect at once, the same key is unchanged', async (context) => {
  const faults: unknown[] = []
  const fixture = await openPoolFixture(context)
  const file = join(fixture.home, 'key')
  const read = environmentSources(
    { OPENAI_API_KEY_FILE: file },
    [{ provider: 'openai', variable: 'OPENAI_API_KEY' }],
    (fault) => faults.push(fault),
  )
  const { pool } = await fixture.join({ environment: read })
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

test('the same key under two names is one credential with one cooldown', async (context) => {
  const fixture = await openPoolFixture(context, { environment: [variable('OPENAI_API_KEY', () => 'same-key')] })
  const id = await fixture.add({ secret: 'same-key' })
  assert.equal((await granted(fixture)).siblings, 0)
  await setCooldowns(fixture, { key: 'credential-env-OPENAI_API_KEY' })
  assert.equal((await choose(fixture)).type, 'cooling')
  assert.equal((await choose(fixture, { setAside: [id] })).type, 'spent')
})

test('many uses cost few writes, and all of them are counted', async (context) => {
  const clock = newVirtualClock()
  const fixture = await openPoolFixture(context, { clock })
  const id = await fixture.add({})
  let writes = 0
  const { countUses } = fixture.store.credentials
  fixture.store.credentials.countUses = (uses) => {
    writes++
    return countUses(uses)
  }
  for (let use = 0; use < 50; use++) {
    await granted(fixture)
    await clock.settle()
  }
  assert.equal(writes, 1)
  await clock.advance(5_000)
  await granted(fixture)
  assert.equal(writes, 2)
  await fixture.pool.flush()
  await fixture.pool.flush()
  assert.equal((await fixture.store.credentials.get(ORGANIZATION, id))?.useCount, 51)
})

test('choosing a credential deletes cooldowns that ended long ago', async (context) => {
  const fixture = await openPoolFixture(context)
  const id = await fixture.add({})
  await setCooldowns(fixture, { key: id, until: NOW })
  assert.equal((await granted(fixture, { at: NOW + 1_000 })).hasCooldown, true)
  await granted(fixture, { at: NOW + 2 * 3_600_000 })
  await fixture.store.cooldowns.clear(ORGANIZATION, { provider: 'nobody' })
  assert.equal((await granted(fixture, { at: NOW + 2 * 3_600_000 })).hasCooldown, false)
})

test('a credential sealed with another key is skipped, and the reason names it', async (context) => {
  const fixture = await openPoolFixture(context)
  const elsewhere = await openPoolFixture(context)
  const id = await fixture.add({ label: 'mine' })
  const { sealed } = (await fixture.store.credentials.get(ORGANIZATION, id))!
  const foreign = elsewhere.keys.box.seal('sk', id)
  await fixture.store.credentials.reseal(id, sealed, { secret: foreign })
  const choice = await choose(fixture)
  assert.equal(choice.type, 'spent')
  assert.match(JSON.stringify(choice), /mine: its secret cannot be decrypted with the key file/)
})

test('a rejected key file disables stored credentials with a reason, and keys from the environment stay usable', async (context) => {
  let key: string | undefined
  const fixture = await openPoolFixture(context, { environment: [variable('OPENAI_API_KEY', () => key)] })
  await fixture.add({ label: 'mine' })
  chmodSync(join(fixture.home, 'secret.key'), 0o644)
  const choice = await choose(fixture)
  assert.equal(choice.type, 'spent')
  assert.match(JSON.stringify(choice), /mine: The key file .* can be read by other users/)
  key = 'sk-environment'
  assert.equal(await secretOf(fixture), 'sk-environment')
})
