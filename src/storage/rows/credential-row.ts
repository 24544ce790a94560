import type { Cooldown, Credential } from '../../core/credential.ts'
import type { SealedSecret, StoredCredential } from '../../ports/credential-store.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<StoredCredential, 'state' | 'sealed'>>()({
  id: 'id',
  organizationId: 'organization_id',
  provider: 'provider',
  label: 'label',
  kind: 'kind',
  source: 'source',
  expiresAt: 'expires_at',
  priority: 'priority',
  useCount: 'use_count',
  lastUsedAt: 'last_used_at',
  oauth: { json: 'oauth' },
  generation: 'generation',
  refreshFailure: 'refresh_failure',
  refreshingBy: 'refreshing_by',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

const SEALED = rowMapper<SealedSecret>()({ secret: 'sealed_secret', refreshToken: 'sealed_refresh_token' })

type SealedRow = RowOf<typeof SEALED>

/** `dead_reason` and `dead_detail` are null while the credential is alive. */
export type CredentialRow = RowOf<typeof FIELDS> &
  SealedRow & { dead_reason: string | null; dead_detail: string | null }

export const CREDENTIAL_COLUMNS = [...FIELDS.columns, ...SEALED.columns, 'dead_reason', 'dead_detail'] as const

export const credentialRowOf = (credential: StoredCredential): CredentialRow => ({
  ...FIELDS.rowOf(credential),
  ...SEALED.rowOf(credential.sealed),
  dead_reason: credential.state.type === 'dead' ? credential.state.reason : null,
  dead_detail: credential.state.type === 'dead' ? credential.state.detail : null,
})

export const credentialOf = (row: CredentialRow): StoredCredential => ({
  ...FIELDS.objectOf(row),
  sealed: sealedOf(row),
  state: stateOf(row),
})

export const sealedOf = (row: SealedRow): SealedSecret => SEALED.objectOf(row)

const stateOf = ({ dead_reason, dead_detail }: CredentialRow): Credential['state'] =>
  dead_reason === null ? { type: 'ok' } : { type: 'dead', reason: dead_reason, detail: dead_detail ?? '' }

export const COOLDOWN = rowMapper<Cooldown>()({
  scope: 'scope',
  key: 'key',
  provider: 'provider',
  reason: 'reason',
  detail: 'detail',
  until: 'until',
  runId: 'run_id',
  createdAt: 'created_at',
})

export type CooldownRow = RowOf<typeof COOLDOWN>
