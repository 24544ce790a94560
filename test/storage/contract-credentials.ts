import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Cooldown, CredentialId } from '../../src/core/credential.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { ModelNote } from '../../src/core/model-note.ts'
import type { Change } from '../../src/core/projection.ts'
import type { NoteKind } from '../../src/core/target.ts'
import type { StoredCredential } from '../../src/ports/credential-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  ORGANIZATION,
  OTHER_ORGANIZATION,
} from './fixture-storage.ts'

const newCredential = (more: Partial<StoredCredential> = {}): StoredCredential => ({
  id: `credential-${randomUUID()}`,
  organizationId: ORGANIZATION,
  provider: 'openai',
  label: `key ${randomUUID()}`,
  kind: 'api-key',
  source: 'stored',
  priority: 0,
  state: { type: 'ok' },
  useCount: 0,
  generation: 1,
  createdAt: AT,
  updatedAt: AT,
  sealed: { secret: `sealed-${randomUUID()}` },
  ...more,
})

async function addCredential(store: Store, more: Partial<StoredCredential> = {}): Promise<StoredCredential> {
  const credential = newCredential(more)
  assert.equal(await store.credentials.add(credential), true)
  return credential
}

const tokens = { kind: 'oauth', oauth: { flow: 'generic', tokenUrl: 'http://127.0.0.1/token' } } as const
const sealed = { secret: 'sealed-old', refreshToken: 'sealed-refresh' }
const claimOf = (generation: number) => ({ claimId: randomUUID(), generation, leaseMs: 60_000 })

const newCooldown = (key: string, more: Partial<Cooldown> = {}): Cooldown => ({
  scope: 'credential',
  key,
  provider: 'openai',
  reason: 'rate-limited',
  detail: 'slow down',
  until: AT + 1_000,
  createdAt: AT,
  ...more,
})
const setCooldown = (cooldown: Cooldown): Change => ({ type: 'set-cooldown', cooldown })
const newNote = (model: string, kind: NoteKind, more: Partial<ModelNote> = {}): ModelNote => ({
  provider: 'openai',
  model,
  kind,
  value: true,
  notedAt: AT,
  expiresAt: AT + 1_000,
  runId: 'run-0',
  ...more,
})
const noteModel = (note: ModelNote): Change => ({ type: 'note-model', note })

/** Commits one event with these changes, in a run of this organization. */
async function commit(store: Store, changes: Change[], organizationId = ORGANIZATION): Promise<void> {
  const agent = await createAgent(store, organizationId)
  const run = await createRunningRun(store, agent)
  assert.equal((await store.events.append(asHolder(run, { facts: [entry(fault('x'), ...changes)] }))).type, 'appended')
}

/** Owner of the keys that runs of all organizations use. */
const SERVER = { organizationId: DEFAULT_ORGANIZATION }

const keysOf = (cooldowns: Cooldown[]) => cooldowns.map(({ key }) => key)

export const CREDENTIALS: ContractTests = {
  'a credential is read back as it was written, and only by its organization': async ({ store }) => {
    const { credentials } = store
    const dead = { type: 'dead', reason: 'invalid_grant', detail: 'it was revoked' } as const
    const full = await addCredential(store, {
      ...tokens,
      sealed,
      state: dead,
      expiresAt: AT + 5,
      useCount: 3,
      lastUsedAt: AT,
    })
    const plain = await addCredential(store)
    assert.deepEqual(await credentials.get(ORGANIZATION, full.id), full)
    assert.deepEqual(await credentials.get(ORGANIZATION, plain.id), plain)
    assert.equal(await credentials.get(OTHER_ORGANIZATION, full.id), undefined)
    assert.deepEqual(await credentials.list(OTHER_ORGANIZATION), [])
    assert.equal(await credentials.remove(OTHER_ORGANIZATION, full.id), false)
    assert.equal(await credentials.remove(ORGANIZATION, full.id), true)
    assert.deepEqual(await credentials.list(ORGANIZATION), [plain])
  },

  'two credentials of one provider cannot have the same label': async ({ store }) => {
    const { label, provider } = await addCredential(store)
    assert.equal(await store.credentials.add(newCredential({ label, provider })), false)
    assert.equal(await store.credentials.add(newCredential({ label, provider: 'another' })), true)
    assert.equal((await store.credentials.list(ORGANIZATION, provider)).length, 1)
  },

  'a pool lists its credentials by priority and their cooldowns, set by any organization, with or without a row':
    async ({ store }) => {
      const late = await addCredential(store, { ...SERVER, priority: 9 })
      const early = await addCredential(store, { ...SERVER, priority: 1 })
      const second = await addCredential(store, { ...SERVER, priority: 1 })
      await addCredential(store, { ...SERVER, provider: 'another' })
      const ofEnvironment = newCooldown('credential-env-OPENAI_API_KEY')
      const ofRow = newCooldown(early.id, { runId: `run-${randomUUID()}` })
      const endpoint = newCooldown('https://example.com', { scope: 'endpoint' })
      await commit(
        store,
        [ofRow, ofEnvironment, endpoint, newCooldown('credential-x', { provider: 'another' })].map(setCooldown),
      )
      const pool = await store.credentials.pool(DEFAULT_ORGANIZATION, 'openai')
      assert.deepEqual(pool.credentials, [early, second, late])
      const sorted = pool.cooldowns.toSorted((one, other) => (one.key < other.key ? -1 : 1))
      assert.deepEqual(
        sorted,
        [ofRow, ofEnvironment].toSorted((one, other) => (one.key < other.key ? -1 : 1)),
      )
      assert.deepEqual(await store.credentials.pool(OTHER_ORGANIZATION, 'openai'), { credentials: [], cooldowns: [] })
    },

  'of two cooldowns of one key the later end wins, in any order of writes': async ({ store }) => {
    const [short, long] = [
      newCooldown('credential-a'),
      newCooldown('credential-a', { until: AT + 9_000, reason: 'auth-rejected' }),
    ]
    await commit(store, [setCooldown(short)])
    await commit(store, [setCooldown(long)])
    await commit(store, [setCooldown(short)])
    assert.deepEqual(await store.cooldowns.list(DEFAULT_ORGANIZATION, AT), [long])
  },

  'a NUL character from a provider fails no commit': async ({ store }) => {
    await commit(store, [setCooldown(newCooldown('credential-a', { detail: 'slow\0 down' }))])
    const [kept] = await store.cooldowns.list(DEFAULT_ORGANIZATION, AT)
    assert.equal(kept?.detail.replaceAll('\0', ''), 'slow down')
  },

  'an ended cooldown is not listed, stays until it is swept, and is cleared by a success': async ({ store }) => {
    await commit(store, [
      setCooldown(newCooldown('credential-a')),
      setCooldown(newCooldown('credential-b', { until: AT + 5_000 })),
    ])
    assert.deepEqual(keysOf(await store.cooldowns.list(DEFAULT_ORGANIZATION, AT + 1_000)), ['credential-b'])
    assert.equal((await store.credentials.pool(DEFAULT_ORGANIZATION, 'openai')).cooldowns.length, 2)
    await store.cooldowns.sweep(DEFAULT_ORGANIZATION, AT + 1_001)
    assert.deepEqual(keysOf((await store.credentials.pool(DEFAULT_ORGANIZATION, 'openai')).cooldowns), ['credential-b'])
    await commit(store, [{ type: 'clear-cooldown', scope: 'credential', key: 'credential-b' }])
    assert.deepEqual((await store.credentials.pool(DEFAULT_ORGANIZATION, 'openai')).cooldowns, [])
  },

  'cooldowns are cleared by provider or key, and never those of another organization': async ({ store }) => {
    const { cooldowns } = store
    const endpoint = newCooldown('https://example.com', { scope: 'endpoint', provider: 'another' })
    await commit(store, [
      setCooldown(newCooldown('credential-a')),
      setCooldown(newCooldown('credential-b')),
      setCooldown(endpoint),
    ])
    assert.equal(await cooldowns.clear(OTHER_ORGANIZATION, {}), 0)
    assert.equal(await cooldowns.clear(DEFAULT_ORGANIZATION, { key: 'credential-a' }), 1)
    assert.equal(await cooldowns.clear(DEFAULT_ORGANIZATION, { provider: 'another' }), 1)
    assert.deepEqual(keysOf(await cooldowns.list(DEFAULT_ORGANIZATION, AT)), ['credential-b'])
    assert.equal(await cooldowns.clear(DEFAULT_ORGANIZATION, {}), 1)
  },

  'removing a credential removes its cooldown': async ({ store }) => {
    const { id } = await addCredential(store, SERVER)
    await commit(store, [setCooldown(newCooldown(id))])
    await store.credentials.remove(DEFAULT_ORGANIZATION, id)
    assert.deepEqual(await store.cooldowns.list(DEFAULT_ORGANIZATION, AT), [])
  },

  'notes on a model keep their age, the newest of a kind wins, and they can be forgotten': async ({ store }) => {
    const { modelNotes } = store
    const notesOf = (model: string) => modelNotes.get(DEFAULT_ORGANIZATION, 'openai', model)
    assert.deepEqual(await notesOf('a'), [])
    const relaxed = newNote('a', 'relaxSchemas')
    const older = newNote('a', 'window', { value: 8_000 })
    const newer = newNote('a', 'window', { value: 4_000, notedAt: AT + 5, expiresAt: AT + 5_000, runId: 'run-1' })
    await commit(store, [noteModel(older)])
    await commit(store, [noteModel(relaxed), noteModel(newNote('b', 'relaxSchemas'))])
    await commit(store, [noteModel(newer)])
    const byKind = (notes: ModelNote[]) => notes.sort((one, other) => (one.kind < other.kind ? -1 : 1))
    assert.deepEqual(byKind(await notesOf('a')), [relaxed, newer])
    assert.equal((await modelNotes.list(DEFAULT_ORGANIZATION, AT)).length, 3)
    assert.deepEqual(await modelNotes.list(DEFAULT_ORGANIZATION, AT + 1_000), [newer], 'expired notes are not listed')
    assert.equal(await modelNotes.forget(DEFAULT_ORGANIZATION, { provider: 'openai', model: 'a' }), 2)
    assert.deepEqual(await notesOf('a'), [])
    assert.equal((await notesOf('b')).length, 1)
  },

  'a note on a credential is its own, and goes with the credential': async ({ store }) => {
    const { id } = await addCredential(store, SERVER)
    const mine = newNote('a', 'dropLongContextBeta', { credentialId: id })
    const others = newNote('a', 'dropLongContextBeta', { credentialId: 'credential-env-OTHER' })
    await commit(store, [noteModel(mine), noteModel(others)])
    assert.equal((await store.modelNotes.get(DEFAULT_ORGANIZATION, 'openai', 'a')).length, 2)
    await store.credentials.remove(DEFAULT_ORGANIZATION, id)
    assert.deepEqual(await store.modelNotes.get(DEFAULT_ORGANIZATION, 'openai', 'a'), [others])
  },

  'of all concurrent refreshes of a credential, in any process, one gets the claim': async ({ store, another }) => {
    const { id } = await addCredential(store, { ...tokens, sealed })
    const other = (await another()).store
    const asked = [store, other, store, other, store, other]
    const answers = await Promise.all(asked.map(({ credentials }) => credentials.claimRefresh(id, claimOf(1))))
    assert.deepEqual(answers.toSorted(), ['claimed', 'held', 'held', 'held', 'held', 'held'])
  },

  'a new secret ends the claim, increments the generation and revives the credential; a late one is refused': async ({
    store,
  }) => {
    const { credentials } = store
    const { id } = await addCredential(store, { ...tokens, sealed })
    assert.equal(await credentials.claimRefresh(id, claimOf(1)), 'claimed')
    await credentials.markDead(id, { generation: 1, reason: 'invalid_grant', detail: 'no', at: AT })
    assert.equal(await credentials.claimRefresh(id, claimOf(1)), 'moved')
    const fresh = { generation: 1, sealed: { secret: 'sealed-new' }, expiresAt: AT + 9, at: AT + 1 }
    assert.equal(await credentials.renew(id, fresh), true)
    const { sealed: now, state, generation, expiresAt, refreshingBy } = (await credentials.get(ORGANIZATION, id))!
    assert.deepEqual(now, { secret: 'sealed-new', refreshToken: 'sealed-refresh' })
    assert.deepEqual([state, generation, expiresAt, refreshingBy], [{ type: 'ok' }, 2, AT + 9, undefined])
    assert.equal(await credentials.renew(id, { ...fresh, sealed: { secret: 'sealed-late' } }), false)
    assert.equal(await credentials.markDead(id, { generation: 1, reason: 'x', detail: 'late', at: AT }), false)
    assert.equal(await credentials.claimRefresh(id, claimOf(1)), 'moved')
    assert.equal(await credentials.claimRefresh(id, claimOf(2)), 'claimed')
  },

  'only the process that made a claim releases it, with the reason of the failure': async ({ store }) => {
    const { credentials } = store
    const { id } = await addCredential(store, { ...tokens, sealed })
    const claim = claimOf(1)
    await credentials.claimRefresh(id, claim)
    await credentials.releaseRefresh(id, { claimId: 'another', failure: 'not theirs' })
    assert.equal(await credentials.claimRefresh(id, claimOf(1)), 'held')
    await credentials.releaseRefresh(id, { claimId: claim.claimId, failure: 'no network' })
    assert.equal((await credentials.get(ORGANIZATION, id))?.refreshFailure, 'no network')
    assert.equal(await credentials.claimRefresh(id, claimOf(1)), 'claimed')
  },

  'the claim of a dead holder expires': async ({ store }) => {
    const { id } = await addCredential(store, { ...tokens, sealed })
    assert.equal(await store.credentials.claimRefresh(id, { ...claimOf(1), leaseMs: 0 }), 'claimed')
    assert.equal(await store.credentials.claimRefresh(id, claimOf(1)), 'claimed')
  },

  'uses are counted, and the latest time is kept': async ({ store }) => {
    const { id } = await addCredential(store)
    const missing: CredentialId = 'credential-gone'
    await store.credentials.countUses([
      { id, uses: 2, at: AT + 9 },
      { id: missing, uses: 1, at: AT },
    ])
    await store.credentials.countUses([{ id, uses: 3, at: AT + 5 }])
    const { useCount, lastUsedAt } = (await store.credentials.get(ORGANIZATION, id))!
    assert.deepEqual([useCount, lastUsedAt], [5, AT + 9])
  },

  'ciphertext is replaced page by page, except where it changed meanwhile': async ({ store }) => {
    const { credentials } = store
    const all = [
      await addCredential(store, { ...tokens, sealed }),
      await addCredential(store),
      await addCredential(store),
    ]
    const first = await credentials.sealedPage(0, 2)
    const rest = await credentials.sealedPage(first.at(-1)!.number, 2)
    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      all.map(({ id }) => id),
    )
    const { id } = all[0]!
    const resealed = { secret: 'sealed-again', refreshToken: 'sealed-refresh-again' }
    assert.equal(await credentials.reseal(id, { secret: 'sealed-old' }, resealed), false)
    assert.equal(await credentials.reseal(id, sealed, resealed), true)
    const now = (await credentials.get(ORGANIZATION, id))!
    assert.deepEqual([now.sealed, now.generation], [resealed, 1])
  },
}
