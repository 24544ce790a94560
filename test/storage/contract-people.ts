import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '../../src/core/audit.ts'
import type { OrganizationId } from '../../src/core/id.ts'
import type { KeyId, Organization, StoredKey, User } from '../../src/core/people.ts'
import type { ListPage } from '../../src/ports/list-page.ts'
import type { ContractTests } from './contract.ts'
import { AT, ORGANIZATION, OTHER_ORGANIZATION } from './fixture-storage.ts'

const auditEntry = (verb: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  id: `audit-${randomUUID()}`,
  at: AT + 5,
  organizationId: ORGANIZATION,
  actor: 'home',
  verb,
  outcome: 'done',
  ...more,
})

const newKey = (more: Partial<StoredKey> = {}): StoredKey => ({
  id: `key-${randomUUID()}`,
  organizationId: ORGANIZATION,
  name: 'a key',
  scope: 'agent',
  createdAt: AT,
  prefix: `hfk-${randomUUID().slice(0, 8)}`,
  digest: 'd'.repeat(64),
  ...more,
})

const newUser = (name: string, organizationId: OrganizationId = ORGANIZATION): User => ({
  id: `user-${randomUUID()}`,
  organizationId,
  name,
  createdAt: AT,
})

const withoutDigest = ({ digest: _, ...key }: StoredKey) => key

export const PEOPLE: ContractTests = {
  'a key is found by its public prefix, and only its organization lists it': async ({ store }) => {
    const key = newKey({ expiresAt: AT + 9, userId: 'user-1' })
    const foreign = newKey({ organizationId: OTHER_ORGANIZATION })
    await store.keys.create(key, auditEntry('key.create'))
    await store.keys.create(foreign, auditEntry('key.create', { organizationId: OTHER_ORGANIZATION }))
    assert.deepEqual(await store.keys.byPrefix(key.prefix), key)
    assert.equal(await store.keys.byPrefix('hfk-nobody'), undefined)
    assert.deepEqual(await store.keys.list(ORGANIZATION), [withoutDigest(key)])
    assert.deepEqual(await store.keys.get(ORGANIZATION, key.id), withoutDigest(key))
    assert.equal(await store.keys.get(ORGANIZATION, foreign.id), undefined)
  },

  'a key is revoked once, only by its organization, and other processes see it': async ({ store, another }) => {
    const key = newKey()
    await store.keys.create(key, auditEntry('key.create'))
    assert.equal(await store.keys.revoke(OTHER_ORGANIZATION, key.id, auditEntry('key.revoke')), undefined)
    const other = await another()
    assert.deepEqual(await store.keys.revokedOf([key.id]), [])
    assert.equal((await other.store.keys.revoke(ORGANIZATION, key.id, auditEntry('key.revoke')))?.revokedAt, AT + 5)
    const later = auditEntry('key.revoke', { at: AT + 50 })
    assert.equal((await store.keys.revoke(ORGANIZATION, key.id, later))?.revokedAt, AT + 5)
    assert.deepEqual(await store.keys.revokedOf([key.id]), [key.id])
    const verbs = (await store.audit.list(ORGANIZATION, { limit: 10, order: 'asc' }))?.map(({ verb }) => verb)
    assert.deepEqual(verbs, ['key.create', 'key.revoke'])
  },

  'of many keys, those revoked or gone are returned': async ({ store }) => {
    const keys = Array.from({ length: 70 }, () => newKey())
    for (const key of keys) await store.keys.create(key, auditEntry('key.create'))
    const revoked = [keys[0]!, keys[33]!, keys[69]!].map(({ id }) => id)
    for (const id of revoked) await store.keys.revoke(ORGANIZATION, id, auditEntry('key.revoke'))
    const gone: KeyId = `key-${randomUUID()}`
    assert.deepEqual(await store.keys.revokedOf([...keys.map(({ id }) => id), gone]), [...revoked, gone])
    assert.deepEqual(await store.keys.revokedOf([]), [])
  },

  'deleting a user revokes all its keys, and user names are unique in an organization': async ({ store }) => {
    const user = newUser('Bo')
    assert.equal(await store.people.createUser(user, auditEntry('user.create')), 'created')
    assert.equal(await store.people.createUser(newUser('Bo'), auditEntry('user.create')), 'name-taken')
    assert.equal(await store.people.createUser(newUser('Bo', OTHER_ORGANIZATION), auditEntry('user.create')), 'created')
    const [owned, free] = [newKey({ userId: user.id }), newKey()]
    for (const key of [owned, free]) await store.keys.create(key, auditEntry('key.create'))
    assert.equal(await store.people.deleteUser(OTHER_ORGANIZATION, user.id, auditEntry('user.delete')), false)
    assert.equal(await store.people.deleteUser(ORGANIZATION, user.id, auditEntry('user.delete')), true)
    assert.equal(await store.people.deleteUser(ORGANIZATION, user.id, auditEntry('user.delete')), false)
    assert.deepEqual(await store.keys.revokedOf([owned.id, free.id]), [owned.id])
    assert.deepEqual(await store.people.listUsers(ORGANIZATION), [])
    assert.equal((await store.people.listUsers(OTHER_ORGANIZATION)).length, 1)
    const verbs = (await store.audit.list(ORGANIZATION, { limit: 10, order: 'asc' }))?.map(({ verb }) => verb)
    assert.deepEqual(verbs, ['user.create', 'user.create', 'key.create', 'key.create', 'user.delete'])
  },

  'organizations are listed in order of creation, and their names are unique': async ({ store }) => {
    const made: Organization[] = ['one', 'two'].map((name) => ({ id: `org-${randomUUID()}`, name, createdAt: AT }))
    for (const one of made) await store.people.createOrganization(one, auditEntry('organization.create'))
    const again = { ...made[0]!, id: `org-${randomUUID()}` } as const
    assert.equal(await store.people.createOrganization(again, auditEntry('organization.create')), 'name-taken')
    assert.deepEqual(await store.people.listOrganizations(), made)
    assert.deepEqual(await store.people.getOrganization(made[1]!.id), made[1])
    assert.equal(await store.people.getOrganization(again.id), undefined)
  },

  'the audit log is paged, and only its organization reads it': async ({ store }) => {
    const lines = Array.from({ length: 5 }, (_, index) => auditEntry(`verb.${index}`))
    const whole = auditEntry('verb.5', {
      userId: 'user-1',
      from: '::1',
      object: 'agent-1',
      outcome: 'failed',
      status: 404,
      requestId: 'r',
    })
    const foreign = auditEntry('foreign', { organizationId: OTHER_ORGANIZATION })
    for (const one of [...lines, foreign, whole]) await store.audit.append(one)
    const listed = async (page: ListPage) =>
      (await store.audit.list(ORGANIZATION, page))?.map(({ sequence: _, hash: __, ...entry }) => entry)
    assert.deepEqual(await listed({ limit: 1, order: 'desc' }), [whole])
    const after = { limit: 2, order: 'asc', after: lines[1]!.id } as const
    assert.deepEqual(await listed(after), [lines[2], lines[3]])
    assert.equal(await listed({ ...after, after: foreign.id }), undefined)
  },
}
