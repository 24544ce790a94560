import { DEFAULT_ORGANIZATION, type OrganizationId } from './id.ts'

export type UserId = `user-${string}`
export type KeyId = `key-${string}`

/** `read` looks, `agent` works with agents, `admin` also says who may. */
export type Scope = 'read' | 'agent' | 'admin'

const RANK: Record<Scope, number> = { read: 0, agent: 1, admin: 2 }

export const SCOPES = Object.keys(RANK) as [Scope, ...Scope[]]

export const scopeCovers = (has: Scope, needed: Scope): boolean => RANK[has] >= RANK[needed]

export type Organization = { id: OrganizationId; name: string; createdAt: number }

export type User = { id: UserId; organizationId: OrganizationId; name: string; createdAt: number }

/** What is kept of a key. The key itself is told once, to whoever had it made. */
export type ApiKey = {
  id: KeyId
  organizationId: OrganizationId
  /** Whose it is; some are nobody's. */
  userId?: UserId
  name: string
  scope: Scope
  /** The part that may be seen: it finds the row and proves nothing. */
  prefix: string
  createdAt: number
  expiresAt?: number
  revokedAt?: number
}

/** With what proves it: SHA-256 of the whole key, hexadecimal. */
export type StoredKey = ApiKey & { digest: string }

type KeyState = 'valid' | 'revoked' | 'expired'

export function keyState({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid'
}

const PREFIX = 'hfk-[0-9a-f]{12}'
const WHOLE_KEY = new RegExp(`^(${PREFIX})-[0-9a-f]{64}$`)

/** The public part of what was shown, if it has the shape of a key that was made here. */
export const parseKeyPrefix = (shown: string): string | undefined => WHOLE_KEY.exec(shown)?.[1]

/** Wherever one stands in a text: for what is written to logs. */
export const KEY_PATTERN = new RegExp(`${PREFIX}-[0-9a-f]{64}`, 'g')

/** The key of the home itself, and whoever sits at its command line. */
export type BuiltInActor = 'home' | 'command-line'

/** Who asks: decided by the key that was shown, never by what a request says of itself. */
export type Caller = {
  actor: KeyId | BuiltInActor
  organizationId: OrganizationId
  scope: Scope
  userId?: UserId
  /** The address the request came from. */
  from?: string
  /** The id under which the request stands in the log. */
  requestId?: string
}

/** The person at the command line of the home, or the program that embeds Holdfast. */
export const COMMAND_LINE: Caller = { actor: 'command-line', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** Whoever runs this server: an administrator of its own organization. Only such may name private addresses. */
export const isOperator = ({ organizationId, scope }: Pick<Caller, 'organizationId' | 'scope'>): boolean =>
  scope === 'admin' && organizationId === DEFAULT_ORGANIZATION
