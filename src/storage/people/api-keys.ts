import type { OrganizationId } from '../../core/id.ts'
import type { ApiKey, KeptKey, KeyId, UserId } from '../../core/people.ts'
import type { KeyStore } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import type { NewRow } from '../database/schema.ts'
import { type Executor, listParameters, listValues, statement } from '../database/statement.ts'
import { hasEntry, insertEntry } from './audit.ts'

export function keyStore({ read, write }: Database): KeyStore {
  return {
    create: (key, audit) =>
      write({
        key: key.id,
        async work(db) {
          await db.run(insert, rowOf(key))
          await insertEntry(db, audit)
          return true
        },
        recall: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
      }).then(() => undefined),

    byPrefix: (prefix) =>
      read(async (db) => {
        const row = await db.get(byPrefix, { prefix })
        return row && { ...keyOf(row), digest: row.digest }
      }),

    revokedOf: (ids) =>
      read(async (db) => {
        const valid = new Set<KeyId>()
        for (let start = 0; start < ids.length; start += BATCH) {
          const rows = await db.all(validOf, listValues('id', ids.slice(start, start + BATCH), BATCH) as Batch)
          for (const { id } of rows) valid.add(id)
        }
        return ids.filter((id) => !valid.has(id))
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { organization: organizationId, id })
        return row && keyOf(row)
      }),

    list: (organizationId) => read(async (db) => (await db.all(all, { organization: organizationId })).map(keyOf)),

    revoke: (organizationId, id, audit) =>
      write({
        key: id,
        async work(db) {
          const changed = await db.run(revoke, { organization: organizationId, id, at: audit.at })
          const row = await db.get(byId, { organization: organizationId, id })
          if (changed === 1) await insertEntry(db, audit)
          return row && keyOf(row)
        },
        // Revoking again changes nothing.
        recall: () => undefined,
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

type Row = NewRow<'api_keys'>

const rowOf = (key: KeptKey): Row => ({
  id: key.id,
  organization_id: key.organizationId,
  user_id: key.userId ?? null,
  name: key.name,
  scope: key.scope,
  prefix: key.prefix,
  digest: key.digest,
  created_at: key.createdAt,
  expires_at: key.expiresAt ?? null,
  revoked_at: key.revokedAt ?? null,
})

const keyOf = (row: Row): ApiKey => ({
  id: row.id,
  organizationId: row.organization_id,
  ...(row.user_id === null ? {} : { userId: row.user_id }),
  name: row.name,
  scope: row.scope,
  prefix: row.prefix,
  createdAt: row.created_at,
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
})

const insert = statement<Row>()((db, p) =>
  db.insertInto('api_keys').values({
    id: p('id'),
    organization_id: p('organization_id'),
    user_id: p('user_id'),
    name: p('name'),
    scope: p('scope'),
    prefix: p('prefix'),
    digest: p('digest'),
    created_at: p('created_at'),
    expires_at: p('expires_at'),
    revoked_at: p('revoked_at'),
  }),
)

const byPrefix = statement<{ prefix: string }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('prefix', '=', p('prefix')),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const all = statement<{ organization: string }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('organization_id', '=', p('organization')).orderBy('number', 'desc'),
)

const revoke = statement<{ organization: string; id: string; at: number }>()((db, p) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: p('at') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('revoked_at', 'is', null),
)

const revokeOfUser = statement<{ organization: string; user: string; at: number }>()((db, p) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: p('at') })
    .where('user_id', '=', p('user'))
    .where('organization_id', '=', p('organization'))
    .where('revoked_at', 'is', null),
)

const BATCH = 32
type Batch = { [id: `id${number}`]: string }

const validOf = statement<Batch>()((db, p) =>
  db
    .selectFrom('api_keys')
    .select('id')
    .where('id', 'in', listParameters(p, 'id', BATCH))
    .where('revoked_at', 'is', null),
)
