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

test('a rotation seals every row anew, page by page, and drops the old key', async (context) => {
  const given = await openPoolFixture(context)
  await addManyCredentials(given)
  const before = await given.store.credentials.list(ORGANIZATION)
  assert.deepEqual(await rotate(given), { resealed: ROWS })
  assert.equal(keysIn(given), 1)
  await assertAllReadable(given)
  const after = await given.store.credentials.list(ORGANIZATION)
  assert.ok(after.every(({ sealed }, index) => sealed.secret !== before[index]!.sealed.secret))
  assert.equal(given.keys.box.open(before[0]!.sealed.secret, before[0]!.id), undefined)
})

test('a rotation that dies anywhere leaves everything readable, and the next one finishes it', async (context) => {
  const given = await openPoolFixture(context)
  await addManyCredentials(given)
  const { reseal } = given.store.credentials
  for (const survived of [0, 1, 120]) {
    let left = survived
    given.store.credentials.reseal = (...parameters) =>
      left-- > 0 ? reseal(...parameters) : Promise.reject(new Error('killed here'))
    await assert.rejects(rotate(given), /killed here/)
    assert.ok(keysIn(given) > 1)
    await assertAllReadable(given)
  }
  given.store.credentials.reseal = reseal
  await rotate(given)
  assert.equal(keysIn(given), 1)
  await assertAllReadable(given)
})

test('dying between the last row and the end of the old key costs nothing', async (context) => {
  const given = await openPoolFixture(context)
  await addManyCredentials(given)
  const dying = { ...given.keys, dropKeys: () => assert.fail('killed here') }
  await assert.rejects(rotate({ ...given, keys: dying }), /killed here/)
  await assertAllReadable(given)
  assert.equal((await rotate(given)).resealed, ROWS)
  assert.equal(keysIn(given), 1)
})

test('what was sealed with the old key while the rotation ran is found before that key is dropped', async (context) => {
  const given = await openPoolFixture(context)
  const id = await given.add({ secret: 'secret-0' })
  const late = given.keys.box.seal('secret-late', id)
  const clock = {
    async sleep() {
      const { sealed } = (await given.store.credentials.get(ORGANIZATION, id))!
      if (given.keys.box.open(sealed.secret, id) === 'secret-0')
        await given.store.credentials.reseal(id, sealed, { secret: late })
    },
  }
  await rotateSecretKey({ secretKeys: given.keys, deps: { store: given.store, clock } })
  assert.equal(await secretOf(given), 'secret-late')
})

test('a row that no key here opens stops the rotation before anything is dropped', async (context) => {
  const given = await openPoolFixture(context)
  const elsewhere = await openPoolFixture(context)
  const id = await given.add({ label: 'mine' })
  const { sealed } = (await given.store.credentials.get(ORGANIZATION, id))!
  await given.store.credentials.reseal(id, sealed, { secret: elsewhere.keys.box.seal('sk', id) })
  await assert.rejects(rotate(given), (error) => error instanceof Problem && error.message.includes(id))
  assert.equal(keysIn(given), 2)
})
