import { type SqlBool, sql } from 'kysely'
import type { CredentialId } from '../../core/credential.ts'
import type { OrganizationId } from '../../core/id.ts'
import { parametersOf } from '../database/row-statements.ts'
import { statement } from '../database/statement.ts'
import { type CooldownRow, CREDENTIAL_COLUMNS, type CredentialRow } from '../rows/credential-row.ts'

type Nullable<T> = { [Key in keyof T]: T[Key] | null }

/** A credential, a cooldown, or both with the same id. */
export type PoolRow = Nullable<CredentialRow> & {
  [Column in Exclude<keyof CooldownRow, 'scope'> as `cooldown_${Column}`]: CooldownRow[Column] | null
}

export const add = statement<CredentialRow>()((db, p) =>
  db
    .insertInto('credentials')
    .values(parametersOf(p, CREDENTIAL_COLUMNS))
    .onConflict((conflict) => conflict.columns(['organization_id', 'provider', 'label']).doNothing()),
)

export const byId = statement<{ id: CredentialId }>()((db, p) =>
  db.selectFrom('credentials').selectAll().where('id', '=', p('id')),
)

export const listed = statement<{ organization: OrganizationId; anyProvider: number; provider: string }>()((db, p) =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('anyProvider')} as integer) = 1 or provider = ${p('provider')})`)
    .orderBy('provider')
    .orderBy('priority')
    .orderBy('number'),
)

export const remove = statement<{ organization: OrganizationId; id: CredentialId }>()((db, p) =>
  db.deleteFrom('credentials').where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

/** Credentials with and without a cooldown, and cooldowns of credentials without a row (from the environment). */
export const poolOf = statement<{ organization: OrganizationId; provider: string }>()((db, p) =>
  db
    .selectFrom(
      db
        .selectFrom('credentials')
        .selectAll()
        .where('organization_id', '=', p('organization'))
        .where('provider', '=', p('provider'))
        .as('credential'),
    )
    .fullJoin(
      db
        .selectFrom('cooldowns')
        .selectAll()
        .where('organization_id', '=', p('organization'))
        .where('provider', '=', p('provider'))
        .where('scope', '=', 'credential')
        .as('cooldown'),
      (join) => join.onRef('cooldown.key', '=', 'credential.id'),
    )
    .selectAll('credential')
    .select([
      'cooldown.key as cooldown_key',
      'cooldown.provider as cooldown_provider',
      'cooldown.reason as cooldown_reason',
      'cooldown.detail as cooldown_detail',
      'cooldown.until as cooldown_until',
      'cooldown.run_id as cooldown_run_id',
      'cooldown.created_at as cooldown_created_at',
    ])
    .orderBy('credential.priority')
    .orderBy('credential.number'),
)

/** A claim with more time left than this was made before the machine's clock was set back, and is ignored. */
const MAX_CLAIM_MS = 600_000

export const claim = statement<{
  id: CredentialId
  claimId: string
  generation: number
  leaseMs: number
  now: number
}>()((db, p, { leaseClock }) => {
  const now = leaseClock(p('now'))
  return db
    .updateTable('credentials')
    .set({ refreshing_by: p('claimId'), refreshing_until: sql<number>`${now} + ${p('leaseMs')}` })
    .where('id', '=', p('id'))
    .where('generation', '=', p('generation'))
    .where('dead_reason', 'is', null)
    .where(
      sql<SqlBool>`(refreshing_by is null or refreshing_until <= ${now} or refreshing_until > ${now} + ${sql.lit(MAX_CLAIM_MS)})`,
    )
})

const NO_CLAIM = { refreshing_by: null, refreshing_until: null }

export const renew = statement<{
  id: CredentialId
  generation: number
  secret: string
  refreshToken: string | null
  expiresAt: number | null
  oauth: string | null
  at: number
}>()((db, p) =>
  db
    .updateTable('credentials')
    .set({
      sealed_secret: p('secret'),
      sealed_refresh_token: sql`coalesce(${p('refreshToken')}, sealed_refresh_token)`,
      expires_at: p('expiresAt'),
      oauth: sql`coalesce(${p('oauth')}, oauth)`,
      generation: sql`generation + 1`,
      dead_reason: null,
      dead_detail: null,
      refresh_failure: null,
      updated_at: p('at'),
      ...NO_CLAIM,
    })
    .where('id', '=', p('id'))
    .where('generation', '=', p('generation')),
)

export const releaseClaim = statement<{ id: CredentialId; claimId: string; failure: string }>()((db, p) =>
  db
    .updateTable('credentials')
    .set({ refresh_failure: p('failure'), ...NO_CLAIM })
    .where('id', '=', p('id'))
    .where('refreshing_by', '=', p('claimId')),
)

export const markDead = statement<{
  id: CredentialId
  generation: number
  reason: string
  detail: string
  at: number
}>()((db, p) =>
  db
    .updateTable('credentials')
    .set({ dead_reason: p('reason'), dead_detail: p('detail'), updated_at: p('at'), ...NO_CLAIM })
    .where('id', '=', p('id'))
    .where('generation', '=', p('generation')),
)

export const countUses = statement<{ id: CredentialId; uses: number; at: number }>()((db, p) =>
  db
    .updateTable('credentials')
    .set({
      use_count: sql`use_count + ${p('uses')}`,
      last_used_at: sql`case when last_used_at > ${p('at')} then last_used_at else ${p('at')} end`,
    })
    .where('id', '=', p('id')),
)

export const sealedPage = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('credentials')
    .select(['number', 'id', 'sealed_secret', 'sealed_refresh_token'])
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)

export const reseal = statement<{
  id: CredentialId
  secret: string
  refreshToken: string
  newSecret: string
  newRefreshToken: string | null
}>()((db, p) =>
  db
    .updateTable('credentials')
    .set({ sealed_secret: p('newSecret'), sealed_refresh_token: p('newRefreshToken') })
    .where('id', '=', p('id'))
    .where('sealed_secret', '=', p('secret'))
    .where(sql<SqlBool>`coalesce(sealed_refresh_token, '') = ${p('refreshToken')}`),
)
