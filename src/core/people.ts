import { DEFAULT_ORGANIZATION, type OrganizationId } from './id.ts'

export type UserId = `user-${string}`
export type KeyId = `key-${string}`

/** `read` may read, `agent` may also use and change agents, `admin` may also manage keys, users and organizations. */
export type Scope = 'read' | 'agent' | 'admin'

const RANK: Record<Scope, number> = { read: 0, agent: 1, admin: 2 }

export const SCOPES = Object.keys(RANK) as [Scope, ...Scope[]]

export const scopeCovers = (has: Scope, needed: Scope): boolean => RANK[has] >= RANK[needed]

export type Organization = { id: OrganizationId; name: string; createdAt: number }

export type User = { id: UserId; organizationId: OrganizationId; name: string; createdAt: number }

/** The stored part of an API key. The key itself is shown once, in the response that creates it. */
export type ApiKey = {
  id: KeyId
  organizationId: OrganizationId
  /** The user it belongs to; absent for keys without a user. */
  userId?: UserId
  name: string
  scope: Scope
  /** The public part: it finds the row and does not authenticate. */
  prefix: string
  createdAt: number
  expiresAt?: number
  revokedAt?: number
}

/** `digest` is the SHA-256 of the whole key, hexadecimal; it authenticates the key. */
export type StoredKey = ApiKey & { digest: string }

type KeyState = 'valid' | 'revoked' | 'expired'

export function keyState({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid'
}

const PREFIX = 'hfk-[0-9a-f]{12}'
const WHOLE_KEY = new RegExp(`^(${PREFIX})-[0-9a-f]{64}$`)

/** The public prefix of the presented text, if it has the format of a Holdfast API key. */
export const parseKeyPrefix = (shown: string): string | undefined => WHOLE_KEY.exec(shown)?.[1]

/** Finds keys inside a text, to redact them from logs. */
export const KEY_PATTERN = new RegExp(`${PREFIX}-[0-9a-f]{64}`, 'g')

/** The home's own key, and the command line of the home. */
export type BuiltInActor = 'home' | 'command-line'

/** The authenticated caller. It follows from the presented key, never from fields of the request. */
export type Caller = {
  actor: KeyId | BuiltInActor
  organizationId: OrganizationId
  scope: Scope
  userId?: UserId
  /** The address the request came from. */
  from?: string
  /** The id of the request in the access log. */
  requestId?: string
}

/** The operator at the command line of the home, or the program that embeds Holdfast. */
export const COMMAND_LINE: Caller = { actor: 'command-line', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** An operator is an administrator of the default organization. Only operators may use private addresses. */
export const isOperator = ({ organizationId, scope }: Pick<Caller, 'organizationId' | 'scope'>): boolean =>
  scope === 'admin' && organizationId === DEFAULT_ORGANIZATION
