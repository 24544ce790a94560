import type { OrganizationId } from '../../core/id.ts'
import type { UserId } from '../../core/people.ts'
import type { PeopleStore } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { statement } from '../database/statement.ts'
import { ORGANIZATION, USER } from '../rows/people-rows.ts'
import { revokeKeysOfUser } from './api-keys.ts'
import { hasEntry, insertEntry } from './audit.ts'

export function peopleStore({ read, write }: Database): PeopleStore {
  return {
    createOrganization: (organization, audit) =>
      write({
        key: organization.id,
        async work(db) {
          if (await db.get(organizationByName, { name: organization.name })) return 'name-taken' as const
          await db.run(insertOrganization, ORGANIZATION.rowOf(organization))
          await insertEntry(db, audit)
          return 'created' as const
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? 'created' : undefined),
      }),

    getOrganization: (id) =>
      read(async (db) => {
        const row = await db.get(organizationById, { id })
        return row && ORGANIZATION.objectOf(row)
      }),

    listOrganizations: () => read(async (db) => (await db.all(organizations, {})).map(ORGANIZATION.objectOf)),

    savePolicy: (id, policy, audit) =>
      write({
        key: id,
        async work(db) {
          await db.run(upsertPolicy, { organization: id, policy: JSON.stringify(policy) })
          await insertEntry(db, audit)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
        announce: true,
      }).then(() => undefined),

    createUser: (user, audit) =>
      write({
        key: user.id,
        async work(db) {
          if (await db.get(userByName, { organization: user.organizationId, name: user.name }))
            return 'name-taken' as const
          await db.run(insertUser, USER.rowOf(user))
          await insertEntry(db, audit)
          return 'created' as const
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? 'created' : undefined),
      }),

    getUser: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(userById.plain, { organization: organizationId, id })
        return row && USER.objectOf(row)
      }),

    listUsers: (organizationId) =>
      read(async (db) => (await db.all(usersOf, { organization: organizationId })).map(USER.objectOf)),

    deleteUser: (organizationId, id, audit) =>
      write({
        key: id,
        async work(db) {
          if ((await db.run(removeUser, { organization: organizationId, id })) === 0) return false
          await revokeKeysOfUser(db, { organizationId, userId: id, at: audit.at })
          await insertEntry(db, audit)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
        announce: true,
      }),
  }
}

const insertOrganization = insertInto('organizations', ORGANIZATION.columns)

const organizationById = statement<{ id: OrganizationId }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('id', '=', p('id')),
)

const organizationByName = statement<{ name: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('name', '=', p('name')),
)

const organizations = statement<Record<never, never>>()((db) =>
  db.selectFrom('organizations').selectAll().orderBy('number'),
)

const upsertPolicy = statement<{ organization: OrganizationId; policy: string }>()((db, p) =>
  db
    .insertInto('organization_policies')
    .values({ organization_id: p('organization'), policy: p('policy') })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ policy: p('policy') })),
)

const insertUser = insertInto('users', USER.columns)

const userById = rowById('users')

const userByName = statement<{ organization: OrganizationId; name: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('organization_id', '=', p('organization')).where('name', '=', p('name')),
)

const usersOf = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('users').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const removeUser = statement<{ organization: OrganizationId; id: UserId }>()((db, p) =>
  db.deleteFrom('users').where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)
