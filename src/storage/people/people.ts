import type { OrganizationId } from '../../core/id.ts'
import type { Organization, User, UserId } from '../../core/people.ts'
import type { PeopleStore } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { revokeKeysOfUser } from './api-keys.ts'
import { hasEntry, insertEntry } from './audit.ts'

export function peopleStore({ read, write }: Database): PeopleStore {
  return {
    createOrganization: (organization, audit) =>
      write({
        key: organization.id,
        async work(db) {
          if (await db.get(organizationByName, { name: organization.name })) return 'name-taken' as const
          const { id, name, createdAt } = organization
          await db.run(insertOrganization, { id, name, created_at: createdAt })
          await insertEntry(db, audit)
          return 'created' as const
        },
        recall: async (db) => ((await hasEntry(db, audit.id)) ? 'created' : undefined),
      }),

    getOrganization: (id) =>
      read(async (db) => {
        const row = await db.get(organizationById, { id })
        return row && organizationOf(row)
      }),

    listOrganizations: () => read(async (db) => (await db.all(organizations, {})).map(organizationOf)),

    createUser: (user, audit) =>
      write({
        key: user.id,
        async work(db) {
          const { id, organizationId, name, createdAt } = user
          if (await db.get(userByName, { organization: organizationId, name })) return 'name-taken' as const
          await db.run(insertUser, { id, organization_id: organizationId, name, created_at: createdAt })
          await insertEntry(db, audit)
          return 'created' as const
        },
        recall: async (db) => ((await hasEntry(db, audit.id)) ? 'created' : undefined),
      }),

    getUser: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(userById, { organization: organizationId, id })
        return row && userOf(row)
      }),

    listUsers: (organizationId) =>
      read(async (db) => (await db.all(usersOf, { organization: organizationId })).map(userOf)),

    deleteUser: (organizationId, id, audit) =>
      write({
        key: id,
        async work(db) {
          if ((await db.run(removeUser, { organization: organizationId, id })) === 0) return false
          await revokeKeysOfUser(db, { organizationId, userId: id, at: audit.at })
          await insertEntry(db, audit)
          return true
        },
        recall: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
        announce: true,
      }),
  }
}

type OrganizationRow = { id: OrganizationId; name: string; created_at: number }
type UserRow = { id: UserId; organization_id: OrganizationId; name: string; created_at: number }

const organizationOf = ({ id, name, created_at }: OrganizationRow): Organization => ({
  id,
  name,
  createdAt: created_at,
})

const userOf = ({ id, organization_id, name, created_at }: UserRow): User => ({
  id,
  organizationId: organization_id,
  name,
  createdAt: created_at,
})

const insertOrganization = statement<OrganizationRow>()((db, p) =>
  db.insertInto('organizations').values({ id: p('id'), name: p('name'), created_at: p('created_at') }),
)

const organizationById = statement<{ id: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('id', '=', p('id')),
)

const organizationByName = statement<{ name: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('name', '=', p('name')),
)

const organizations = statement<Record<never, never>>()((db) =>
  db.selectFrom('organizations').selectAll().orderBy('number'),
)

const insertUser = statement<UserRow>()((db, p) =>
  db.insertInto('users').values({
    id: p('id'),
    organization_id: p('organization_id'),
    name: p('name'),
    created_at: p('created_at'),
  }),
)

const userById = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const userByName = statement<{ organization: string; name: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('organization_id', '=', p('organization')).where('name', '=', p('name')),
)

const usersOf = statement<{ organization: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const removeUser = statement<{ organization: string; id: string }>()((db, p) =>
  db.deleteFrom('users').where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)
