import type { ChainedEntry } from '../../core/audit.ts'
import type { ApiKey, Organization, User } from '../../core/people.ts'
import type { WebhookSecret } from '../../core/webhook-secret.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const ORGANIZATION = rowMapper<Organization>()({ id: 'id', name: 'name', createdAt: 'created_at' })

export type OrganizationRow = RowOf<typeof ORGANIZATION>

export const USER = rowMapper<User>()({
  id: 'id',
  organizationId: 'organization_id',
  name: 'name',
  createdAt: 'created_at',
})

export type UserRow = RowOf<typeof USER>

export const API_KEY = rowMapper<ApiKey>()({
  id: 'id',
  organizationId: 'organization_id',
  userId: 'user_id',
  name: 'name',
  scope: 'scope',
  prefix: 'prefix',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  revokedAt: 'revoked_at',
})

export type ApiKeyRow = RowOf<typeof API_KEY> & { digest: string }

export const WEBHOOK_SECRET = rowMapper<WebhookSecret>()({
  id: 'id',
  organizationId: 'organization_id',
  sealed: 'sealed_secrets',
  createdAt: 'created_at',
})

export type WebhookSecretRow = RowOf<typeof WEBHOOK_SECRET>

export const AUDIT_ENTRY = rowMapper<ChainedEntry>()({
  id: 'id',
  organizationId: 'organization_id',
  at: 'at',
  actor: 'actor',
  userId: 'user_id',
  from: 'from_address',
  verb: 'verb',
  object: 'object',
  detail: 'detail',
  outcome: 'outcome',
  status: 'status',
  requestId: 'request_id',
  sequence: 'sequence',
  hash: 'hash',
})

export type AuditRow = RowOf<typeof AUDIT_ENTRY>
