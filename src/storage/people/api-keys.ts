import type { OrganizationId } from '../../core/id.ts'
import type { KeyId, UserId } from '../../core/people.ts'
import type { KeyStore } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { type Executor, listParameters, listValues, type Slots, statement } from '../database/statement.ts'
import { API_KEY } from '../rows/people-rows.ts'
import { hasEntry, insertEntry } from './audit.ts'

export function keyStore({ read, write }: Database): KeyStore {
  return {
    create: (key, audit) =>
      write({
        key: key.id,
        async work(db) {
          await db.run(insert, { ...API_KEY.rowOf(key), digest: key.digest })
          await insertEntry(db, audit)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
      }).then(() => undefined),

    byPrefix: (prefix) =>
      read(async (db) => {
        const row = await db.get(byPrefix, { prefix })
        return row && { ...API_KEY.objectOf(row), digest: row.digest }
      }),

    revokedOf: (ids) =>
      read(async (db) => {
        const valid = new Set<KeyId>()
        for (let start = 0; start < ids.length; start += BATCH) {
          const rows = await db.all(validOf, listValues('id', ids.slice(start, start + BATCH), BATCH))
          for (const { id } of rows) valid.add(id)
        }
        return ids.filter((id) => !valid.has(id))
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization: organizationId, id })
        return row && API_KEY.objectOf(row)
      }),

    list: (organizationId) =>
      read(async (db) => (await db.all(all, { organization: organizationId })).map(API_KEY.objectOf)),

    revoke: (organizationId, id, audit) =>
      write({
        key: id,
        async work(db) {
          const changed = await db.run(revoke, { organization: organizationId, id, at: audit.at })
          const row = await db.get(byId.plain, { organization: organizationId, id })
          if (changed === 1) await insertEntry(db, audit)
          return row && API_KEY.objectOf(row)
        },
        // Revoking again changes nothing.
        findCommitted: () => undefined,
        announce: true,
      }),
  }
}

export async function revokeKeysOfUser(
  db: Executor,
  { organizationId, userId, at }: { organizationId: OrganizationId; userId: UserId; at: number },
): Promise<void> {
  await db.run(revokeOfUser, { organization: organizationId, user: userId, at })
}

const insert = insertInto('api_keys', [...API_KEY.columns, 'digest'])

const byPrefix = statement<{ prefix: string }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('prefix', '=', p('prefix')),
)

const byId = rowById('api_keys')

const all = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('organization_id', '=', p('organization')).orderBy('number', 'desc'),
)

const revoke = statement<{ organization: OrganizationId; id: KeyId; at: number }>()((db, p) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: p('at') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('revoked_at', 'is', null),
)

const revokeOfUser = statement<{ organization: OrganizationId; user: UserId; at: number }>()((db, p) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: p('at') })
    .where('user_id', '=', p('user'))
    .where('organization_id', '=', p('organization'))
    .where('revoked_at', 'is', null),
)

const BATCH = 32

const validOf = statement<Slots<'id', KeyId>>()((db, p) =>
  db
    .selectFrom('api_keys')
    .select('id')
    .where('id', 'in', listParameters(p, 'id', BATCH))
    .where('revoked_at', 'is', null),
)
