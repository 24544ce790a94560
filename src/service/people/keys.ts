import { parseId } from '../../core/id.ts'
import type { ApiKey, Scope, UserId } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { KeyStore } from '../../ports/people-store.ts'
import type { Desk } from '../desk.ts'
import { entryOf } from './audit.ts'
import { organizationFor } from './organization-for.ts'
import { requireName } from './people.ts'

/** What a key ring asks about the keys it was shown. */
export const keyLookup = ({ world }: Desk): Pick<KeyStore, 'byPrefix' | 'revokedOf'> => world.store.keys

type CreateKey = {
  name: string
  scope: Scope
  /** One's own without it. */
  organizationId?: string
  userId?: string
  expiresAt?: number
}

/** Makes a key. It is told here and never again: what is kept cannot be turned back into it. */
export async function createKey(request: CreateKey, desk: Desk): Promise<{ key: ApiKey; secret: string }> {
  const { clock, digest, store } = desk.world
  const name = requireName(request.name)
  const organizationId = await organizationFor(request.organizationId, desk)
  const userId = request.userId === undefined ? undefined : await requireUser(request.userId, organizationId, desk)
  const { expiresAt, scope } = request
  const createdAt = clock.now()
  if (expiresAt !== undefined && expiresAt <= createdAt)
    throw new Problem('invalid', 'The key would have expired before it is made.')
  const { prefix, secret } = newSecret(desk)
  const key: ApiKey = {
    id: `key-${desk.world.randomness.uuid()}`,
    organizationId,
    name,
    scope,
    prefix,
    createdAt,
    ...(userId ? { userId } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
  const audit = entryOf({ verb: 'key.create', object: key.id, organizationId }, desk)
  await store.keys.create({ ...key, digest: digest(secret) }, audit)
  return { key, secret }
}

/** Newest first, revoked ones included. */
export async function listKeys({ organizationId }: { organizationId?: string }, desk: Desk): Promise<ApiKey[]> {
  return desk.world.store.keys.list(await organizationFor(organizationId, desk))
}

export async function requireKey(
  { id: text, organizationId }: { id: string; organizationId?: string },
  desk: Desk,
): Promise<ApiKey> {
  const id = parseId('key', text)
  const key = id && (await desk.world.store.keys.get(await organizationFor(organizationId, desk), id))
  if (key) return key
  throw new Problem('not-found', `There is no key ${text.slice(0, 80)}.`)
}

/** From now on the key opens nothing; what it holds open ends within a second, in every process. */
export async function revokeKey(
  { id: text, organizationId: named }: { id: string; organizationId?: string },
  desk: Desk,
): Promise<ApiKey> {
  const organizationId = await organizationFor(named, desk)
  const id = parseId('key', text)
  const audit = entryOf({ verb: 'key.revoke', object: text, organizationId }, desk)
  const key = id && (await desk.world.store.keys.revoke(organizationId, id, audit))
  if (key) return key
  throw new Problem('not-found', `There is no key ${text.slice(0, 80)}.`)
}

/** Each uuid has 74 bits of chance; five of them are more than the 256 that the digest keeps. */
const CHANCES = 5
const PUBLIC_DIGITS = 12

function newSecret({ world: { randomness, digest } }: Desk): { prefix: string; secret: string } {
  const chance = (count: number) => digest(Array.from({ length: count }, () => randomness.uuid()).join())
  const prefix = `hfk-${chance(2).slice(0, PUBLIC_DIGITS)}`
  return { prefix, secret: `${prefix}-${chance(CHANCES)}` }
}

async function requireUser(text: string, organizationId: `org-${string}`, { world }: Desk): Promise<UserId> {
  const id = parseId('user', text)
  if (id && (await world.store.people.getUser(organizationId, id))) return id
  throw new Problem('not-found', `There is no user ${text.slice(0, 80)} in this organization.`)
}
