import type { AuditEntry, AuditTicket, ChainedEntry } from '../core/audit.ts'
import type { OrganizationId } from '../core/id.ts'
import type { OrganizationPolicy } from '../core/organization-limits.ts'
import type { ApiKey, KeyId, Organization, StoredKey, User, UserId } from '../core/people.ts'
import type { WebhookSecret, WebhookSecretId } from '../core/webhook-secret.ts'
import type { ListPage, ListResult } from './list-page.ts'

/** Each write commits its audit log entry in the same transaction. */
export type PeopleStore = {
  createOrganization(organization: Organization, audit: AuditEntry): Promise<'created' | 'name-taken'>
  getOrganization(id: OrganizationId): Promise<Organization | undefined>
  /** Oldest first. The default organization has no row until it is renamed, and is not listed. */
  listOrganizations(): Promise<Organization[]>
  savePolicy(id: OrganizationId, policy: OrganizationPolicy, audit: AuditEntry): Promise<void>
  createUser(user: User, audit: AuditEntry): Promise<'created' | 'name-taken'>
  getUser(organizationId: OrganizationId, id: UserId): Promise<User | undefined>
  listUsers(organizationId: OrganizationId): Promise<User[]>
  /** Also revokes all keys of the user. */
  deleteUser(organizationId: OrganizationId, id: UserId, audit: AuditEntry): Promise<boolean>
}

export type KeyStore = {
  create(key: StoredKey, audit: AuditEntry): Promise<void>
  /** The only lookup without an organization: it finds the organization of the caller. */
  byPrefix(prefix: string): Promise<StoredKey | undefined>
  /** Returns those of `ids` that are revoked or gone. */
  revokedOf(ids: readonly KeyId[]): Promise<KeyId[]>
  get(organizationId: OrganizationId, id: KeyId): Promise<ApiKey | undefined>
  /** Newest first, revoked ones included. */
  list(organizationId: OrganizationId): Promise<ApiKey[]>
  /** The key after the revocation; revoking again keeps the first time. Undefined: no such key. */
  revoke(organizationId: OrganizationId, id: KeyId, audit: AuditEntry): Promise<ApiKey | undefined>
}

export type AuditLog = {
  append(entry: AuditEntry): Promise<void>
  /** The first transaction of `work` that changes a row also has the entry of the ticket. */
  within<T>(ticket: AuditTicket, work: () => Promise<T>): Promise<T>
  list(organizationId: OrganizationId, page: ListPage): ListResult<ChainedEntry>
}

export type WebhookSecretStore = {
  get(organizationId: OrganizationId): Promise<WebhookSecret | undefined>
  /** One for each organization: replaces the one before. */
  replace(secret: WebhookSecret, audit: AuditEntry): Promise<void>
  sealedPage(
    after: number,
    limit: number,
  ): Promise<{ number: number; id: WebhookSecretId; sealed: { secret: string } }[]>
  reseal(id: WebhookSecretId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}
