import { defined } from '../../core/defined.ts'
import { type OrganizationId, parseId } from '../../core/id.ts'
import { type ApiKey, type KeyId, keyState, type Scope, scopeCovers, type UserId } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { KeyStore } from '../../ports/people-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'
import { requireName } from './people.ts'

/** The queries of a key ring. */
export const keyLookup = ({ deps }: ServiceContext): Pick<KeyStore, 'byPrefix' | 'revokedOf'> => deps.store.keys

type CreateKeyRequest = {
  name: string
  scope: Scope
  /** Default: the organization of the caller. */
  organizationId?: string
  userId?: string
  expiresAt?: number
}

/** Creates a key. Its secret is returned here and never again: only a digest is stored. */
export async function createKey(
  request: CreateKeyRequest,
  context: ServiceContext,
): Promise<{ key: ApiKey; secret: string }> {
  const { clock, digest, store } = context.deps
  const name = requireName(request.name)
  const organizationId = await organizationFor(request.organizationId, context)
  const userId = request.userId === undefined ? undefined : await requireUser(request.userId, organizationId, context)
  const { expiresAt, scope } = request
  const createdAt = clock.now()
  if (expiresAt !== undefined && expiresAt <= createdAt)
    throw new Problem('invalid', 'The expiry time of a key must be in the future.')
  const { prefix, secret } = newSecret(context)
  const key: ApiKey = {
    id: `key-${context.deps.randomness.uuid()}`,
    organizationId,
    name,
    scope,
    prefix,
    createdAt,
    ...defined({ userId: userId || undefined, expiresAt }),
  }
  const audit = newAuditEntry({ verb: 'key.create', object: key.id, organizationId }, context)
  await store.keys.create({ ...key, digest: digest(secret) }, audit)
  return { key, secret }
}

/** Newest first, including revoked keys. */
export async function listKeys(
  { organizationId }: { organizationId?: string },
  context: ServiceContext,
): Promise<ApiKey[]> {
  return context.deps.store.keys.list(await organizationFor(organizationId, context))
}

export async function requireKey(
  { id: text, organizationId }: { id: string; organizationId?: string },
  context: ServiceContext,
): Promise<ApiKey> {
  const id = parseId('key', text)
  const key = id && (await context.deps.store.keys.get(await organizationFor(organizationId, context), id))
  if (key) return key
  throw new Problem('not-found', `There is no key "${text.slice(0, 80)}".`)
}

/** The key is refused from now on, and its open requests end within a second, in every process. */
export async function revokeKey(
  { id: text, organizationId: named }: { id: string; organizationId?: string },
  context: ServiceContext,
): Promise<ApiKey> {
  const organizationId = await organizationFor(named, context)
  const id = parseId('key', text)
  if (id && context.caller.actor === id) await requireAnotherAdminKey(id, organizationId, context)
  const audit = newAuditEntry({ verb: 'key.revoke', object: text, organizationId }, context)
  const key = id && (await context.deps.store.keys.revoke(organizationId, id, audit))
  if (key) return key
  throw new Problem('not-found', `There is no key "${text.slice(0, 80)}".`)
}

/** Without one, the organization could not make keys any more, and would have to ask the operator. */
async function requireAnotherAdminKey(
  id: KeyId,
  organizationId: OrganizationId,
  { deps }: ServiceContext,
): Promise<void> {
  const now = deps.clock.now()
  const keys = await deps.store.keys.list(organizationId)
  const isAdmin = (key: ApiKey) => keyState(key, now) === 'valid' && scopeCovers(key.scope, 'admin')
  const self = keys.find((key) => key.id === id)
  if (!self || !isAdmin(self) || keys.some((key) => key.id !== id && isAdmin(key))) return
  throw new Problem(
    'conflict',
    `${id} is the last admin key of this organization. Create another one first, or let the operator revoke it.`,
  )
}

/** Each uuid has 74 random bits; five of them exceed the 256 bits of the digest. */
const UUIDS_PER_SECRET = 5
const PUBLIC_DIGITS = 12

function newSecret({ deps: { randomness, digest } }: ServiceContext): { prefix: string; secret: string } {
  const randomDigest = (count: number) => digest(Array.from({ length: count }, () => randomness.uuid()).join())
  const prefix = `hfk-${randomDigest(2).slice(0, PUBLIC_DIGITS)}`
  return { prefix, secret: `${prefix}-${randomDigest(UUIDS_PER_SECRET)}` }
}

async function requireUser(text: string, organizationId: `org-${string}`, { deps }: ServiceContext): Promise<UserId> {
  const id = parseId('user', text)
  if (id && (await deps.store.people.getUser(organizationId, id))) return id
  throw new Problem('not-found', `There is no user "${text.slice(0, 80)}" in this organization.`)
}
