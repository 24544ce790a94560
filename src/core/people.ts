import { DEFAULT_ORGANIZATION, type OrganizationId } from './id.ts'

export type UserId = `user-${string}`
export type KeyId = `key-${string}`

/** What an operation, or a part of one, requires. */
export type Right = 'read' | 'agent' | 'approve' | 'tools' | 'admin'

/**
 * The rights of each scope. `agent` uses and changes agents; `approve` decides the calls that wait, and whether calls
 * wait at all; `tools` brings source code that agents run, and says what it may reach; `admin` also manages keys, users and organizations.
 */
const RIGHTS = {
  read: ['read'],
  approve: ['read', 'approve'],
  agent: ['read', 'agent'],
  tools: ['read', 'tools'],
  'agent approve': ['read', 'agent', 'approve'],
  'agent tools': ['read', 'agent', 'tools'],
  'agent approve tools': ['read', 'agent', 'approve', 'tools'],
  admin: ['read', 'agent', 'approve', 'tools', 'admin'],
} as const satisfies Record<string, readonly Right[]>

export type Scope = keyof typeof RIGHTS

export const SCOPES = Object.keys(RIGHTS) as [Scope, ...Scope[]]

export const scopeCovers = (has: Scope, needed: Right): boolean => (RIGHTS[has] as readonly Right[]).includes(needed)

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
export type BuiltInActor = 'home' | 'command-line' | 'gateway'

/** Who did something, as the log of a run records it. */
export type Principal = { actor: KeyId | BuiltInActor; userId?: UserId }

export const principalOf = ({ actor, userId }: Principal): Principal => (userId ? { actor, userId } : { actor })

/** Two keys of one user are the same person. */
export const isSamePrincipal = (one: Principal, other: Principal): boolean =>
  one.actor === other.actor || (one.userId !== undefined && one.userId === other.userId)

/** The authenticated caller. It follows from the presented key, never from fields of the request. */
export type Caller = Principal & {
  organizationId: OrganizationId
  scope: Scope
  /** The address the request came from. */
  from?: string
  /** The id of the request in the access log. */
  requestId?: string
  /** The `traceparent` of the request, if it is valid. */
  traceparent?: string
}

/** The operator at the command line of the home, or the program that embeds Holdfast. */
export const COMMAND_LINE: Caller = { actor: 'command-line', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** An operator is an administrator of the default organization. Only operators may use private addresses. */
export const isOperator = ({ organizationId, scope }: Pick<Caller, 'organizationId' | 'scope'>): boolean =>
  scope === 'admin' && organizationId === DEFAULT_ORGANIZATION

/** Each principal once. */
export const joinPrincipals = (known: readonly Principal[], more: readonly Principal[] = []): Principal[] => [
  ...known,
  ...more.filter((one) => !known.some((other) => isSamePrincipal(one, other))),
]
