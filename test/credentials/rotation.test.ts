import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import { Problem } from '../../src/core/problem.ts'
import { rotateSecretKey } from '../../src/service/credentials/rotate-secret-key.ts'
import { openPoolFixture, type PoolFixture, secretOf } from './fixture-pool.ts'

const noWait = { sleep: () => Promise.resolve() }
const ROWS = 150

async function addManyCredentials(fixture: PoolFixture): Promise<void> {
  for (let row = 0; row < ROWS; row++)
    await fixture.add({ provider: `p${row}`, secret: `secret-${row}`, refreshToken: `refresh-${row}` })
}

const rotate = ({ keys, store }: PoolFixture) => rotateSecretKey({ secretKeys: keys, deps: { store, clock: noWait } })

const keysIn = ({ home }: PoolFixture) => readFileSync(join(home, 'secret.key'), 'utf8').trim().split('\n').length

async function assertAllReadable(fixture: PoolFixture): Promise<void> {
  for (let row = 0; row < ROWS; row++) assert.equal(await secretOf(fixture, { provider: `p${row}` }), `secret-${row}`)
  for (const { id, sealed } of await fixture.store.credentials.list(ORGANIZATION))
    assert.match(fixture.keys.box.open(sealed.refreshToken!, id) ?? '', /^refresh-/)
}

test('a rotation reseals every row, page by page, and drops the old key', async (context) => {
  const fixture = await openPoolFixture(context)
  await addManyCredentials(fixture)
  const before = await fixture.store.credentials.list(ORGANIZATION)
  assert.deepEqual(await rotate(fixture), { resealed: ROWS })
  assert.equal(keysIn(fixture), 1)
  await assertAllReadable(fixture)
  const after = await fixture.store.credentials.list(ORGANIZATION)
  assert.ok(after.every(({ sealed }, index) => sealed.secret !== before[index]!.sealed.secret))
  assert.equal(fixture.keys.box.open(before[0]!.sealed.secret, before[0]!.id), undefined)
})

test('a rotation that is killed at any point leaves every secret readable, and the next one finishes it', async (context) => {
  const fixture = await openPoolFixture(context)
  await addManyCredentials(fixture)
  const { reseal } = fixture.store.credentials
  for (const survived of [0, 1, 120]) {
    let left = survived
    fixture.store.credentials.reseal = (...parameters) =>
      left-- > 0 ? reseal(...parameters) : Promise.reject(new Error('killed here'))
    await assert.rejects(rotate(fixture), /killed here/)
    assert.ok(keysIn(fixture) > 1)
    await assertAllReadable(fixture)
  }
  fixture.store.credentials.reseal = reseal
  await rotate(fixture)
  assert.equal(keysIn(fixture), 1)
  await assertAllReadable(fixture)
})

test('a rotation killed between the last row and the removal of the old key loses nothing', async (context) => {
  const fixture = await openPoolFixture(context)
  await addManyCredentials(fixture)
  const dying = { ...fixture.keys, dropKeys: () => assert.fail('killed here') }
  await assert.rejects(rotate({ ...fixture, keys: dying }), /killed here/)
  await assertAllReadable(fixture)
  assert.equal((await rotate(fixture)).resealed, ROWS)
  assert.equal(keysIn(fixture), 1)
})

test('a secret sealed with the old key during the rotation is resealed before that key is dropped', async (context) => {
  const fixture = await openPoolFixture(context)
  const id = await fixture.add({ secret: 'secret-0' })
  const late = fixture.keys.box.seal('secret-late', id)
  const clock = {
    async sleep() {
      const { sealed } = (await fixture.store.credentials.get(ORGANIZATION, id))!
      if (fixture.keys.box.open(sealed.secret, id) === 'secret-0')
        await fixture.store.credentials.reseal(id, sealed, { secret: late })
    },
  }
  await rotateSecretKey({ secretKeys: fixture.keys, deps: { store: fixture.store, clock } })
  assert.equal(await secretOf(fixture), 'secret-late')
})

test('a row that no key opens stops the rotation before a key is dropped', async (context) => {
  const fixture = await openPoolFixture(context)
  const elsewhere = await openPoolFixture(context)
  const id = await fixture.add({ label: 'mine' })
  const { sealed } = (await fixture.store.credentials.get(ORGANIZATION, id))!
  await fixture.store.credentials.reseal(id, sealed, { secret: elsewhere.keys.box.seal('sk', id) })
  await assert.rejects(rotate(fixture), (error) => error instanceof Problem && error.message.includes(id))
  assert.equal(keysIn(fixture), 2)
})
