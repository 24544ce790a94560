import { type SqlBool, sql } from 'kysely'
import type { Cooldown } from '../../core/credential.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { CooldownStore } from '../../ports/credential-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { COOLDOWN } from '../rows/credential-row.ts'
import type { NewRow } from '../rows/tables.ts'

export function cooldownStore({ read, write }: Database): CooldownStore {
  return {
    list: (organizationId, at) =>
      read(async (db) => (await db.all(activeAt, { organization: organizationId, at })).map(COOLDOWN.objectOf)),

    clear: (organizationId, { provider, scope, key }) =>
      write({
        key: '',
        work: (db) =>
          db.run(clearMatching, {
            organization: organizationId,
            provider: provider ?? '',
            scope: scope ?? '',
            key: key ?? '',
          }),
        findCommitted: () => undefined,
      }),

    sweep: (organizationId, before) =>
      write({
        key: '',
        work: (db) => db.run(sweep, { organization: organizationId, before }),
        findCommitted: () => undefined,
      }).then(() => undefined),
  }
}

/** Runs in the transaction of the set-cooldown event. */
export async function setCooldown(db: Executor, organization: OrganizationId, cooldown: Cooldown): Promise<void> {
  await db.run(set, { ...COOLDOWN.rowOf(cooldown), organization_id: organization })
}

export async function clearCooldown(
  db: Executor,
  organization: OrganizationId,
  { scope, key }: Pick<Cooldown, 'scope' | 'key'>,
): Promise<void> {
  await db.run(clearOne, { organization, scope, key })
}

/** One row per credential or endpoint. The later end wins, in any order of commits. */
const set = statement<NewRow<'cooldowns'>>()((db, p) =>
  db
    .insertInto('cooldowns')
    .values(parametersOf(p, ['organization_id', ...COOLDOWN.columns]))
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'scope', 'key'])
        .doUpdateSet(({ ref }) => ({
          provider: ref('excluded.provider'),
          reason: ref('excluded.reason'),
          detail: ref('excluded.detail'),
          until: ref('excluded.until'),
          run_id: ref('excluded.run_id'),
          created_at: ref('excluded.created_at'),
        }))
        .whereRef('excluded.until', '>', 'cooldowns.until'),
    ),
)

const clearOne = statement<{ organization: OrganizationId; scope: Cooldown['scope']; key: string }>()((db, p) =>
  db
    .deleteFrom('cooldowns')
    .where('organization_id', '=', p('organization'))
    .where('scope', '=', p('scope'))
    .where('key', '=', p('key')),
)

/** An empty parameter matches every value. */
const clearMatching = statement<{ organization: OrganizationId; provider: string; scope: string; key: string }>()(
  (db, p) =>
    db
      .deleteFrom('cooldowns')
      .where('organization_id', '=', p('organization'))
      .where(sql<SqlBool>`(cast(${p('provider')} as text) = '' or provider = ${p('provider')})`)
      .where(sql<SqlBool>`(cast(${p('scope')} as text) = '' or scope = ${p('scope')})`)
      .where(sql<SqlBool>`(cast(${p('key')} as text) = '' or key = ${p('key')})`),
)

const activeAt = statement<{ organization: OrganizationId; at: number }>()((db, p) =>
  db
    .selectFrom('cooldowns')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('until', '>', p('at'))
    .orderBy('until')
    .orderBy('key'),
)

const sweep = statement<{ organization: OrganizationId; before: number }>()((db, p) =>
  db.deleteFrom('cooldowns').where('organization_id', '=', p('organization')).where('until', '<', p('before')),
)
