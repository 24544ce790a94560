import type { AuditEntry } from '../core/audit.ts'
import type { OrganizationId } from '../core/id.ts'
import type { ApiKey, KeyId, Organization, StoredKey, User, UserId } from '../core/people.ts'
import type { ListPage, ListResult } from './list-page.ts'

/** Each write is one transaction with the line of the audit log that tells of it. */
export type PeopleStore = {
  createOrganization(organization: Organization, audit: AuditEntry): Promise<'created' | 'name-taken'>
  getOrganization(id: OrganizationId): Promise<Organization | undefined>
  /** Oldest first; the default one has no row until it is renamed, and is not among them. */
  listOrganizations(): Promise<Organization[]>
  createUser(user: User, audit: AuditEntry): Promise<'created' | 'name-taken'>
  getUser(organizationId: OrganizationId, id: UserId): Promise<User | undefined>
  listUsers(organizationId: OrganizationId): Promise<User[]>
  /** With it, all its keys are revoked. */
  deleteUser(organizationId: OrganizationId, id: UserId, audit: AuditEntry): Promise<boolean>
}

export type KeyStore = {
  create(key: StoredKey, audit: AuditEntry): Promise<void>
  /** The only question that needs no organization: its answer is which one asks. */
  byPrefix(prefix: string): Promise<StoredKey | undefined>
  /** Of these, the ones that are revoked or gone. */
  revokedOf(ids: readonly KeyId[]): Promise<KeyId[]>
  get(organizationId: OrganizationId, id: KeyId): Promise<ApiKey | undefined>
  /** Newest first, revoked ones included. */
  list(organizationId: OrganizationId): Promise<ApiKey[]>
  /** The key as it is now; a second revocation leaves the time of the first. Undefined: there is none. */
  revoke(organizationId: OrganizationId, id: KeyId, audit: AuditEntry): Promise<ApiKey | undefined>
}

export type AuditLog = {
  append(entry: AuditEntry): Promise<void>
  list(organizationId: OrganizationId, page: ListPage): ListResult<AuditEntry>
}
