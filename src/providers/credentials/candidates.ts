import { inspect } from 'node:util'
import type { Cooldown, CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredCredential } from '../../ports/credential-store.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { EnvironmentKey } from './environment-keys.ts'
import { type FlowOverrides, findFlow } from './oauth-flows.ts'

/** One credential of a pool, with its secret. It leaves this room only as a grant. */
export type Candidate = {
  grant: Grant
  id: CredentialId
  /** Its index in the order of the pool. */
  position: number
  uses: number
  expiresAt?: number
  canRefresh: boolean
  canRefreshEntitlement: boolean
  /** Why the credential cannot be used. */
  dead?: string
  cooldown?: Cooldown
}

type PoolContents = {
  stored: readonly StoredCredential[]
  environment: readonly EnvironmentKey[]
  cooldowns: readonly Cooldown[]
}

type CandidateDeps = { box: SecretBox; flows: FlowOverrides; uncommittedUses(id: CredentialId): number }

/** Stored credentials come before keys from the environment. */
export function toCandidates({ stored, environment, cooldowns }: PoolContents, deps: CandidateDeps): Candidate[] {
  const all = [
    ...stored.map((row) => storedCandidate(row, deps)),
    ...environment.map((key) => environmentCandidate(key, deps)),
  ]
  const cooldownById = new Map(cooldowns.map((cooldown) => [cooldown.key, cooldown]))
  return uniqueBySecret(
    all.map((candidate, position) => {
      const cooldown = cooldownById.get(candidate.id)
      return { ...candidate, position, ...defined({ cooldown }) }
    }),
  )
}

type UnrankedCandidate = Omit<Candidate, 'position' | 'cooldown'>

function storedCandidate(row: StoredCredential, { box, flows, uncommittedUses }: CandidateDeps): UnrankedCandidate {
  const opened = openSecret(box, row)
  const flow = row.oauth && findFlow(row.oauth, flows)
  const headers = { ...flow?.grantHeaders, ...row.oauth?.headers }
  const dead = row.state.type === 'dead' ? row.state.detail : opened.fault
  return {
    id: row.id,
    grant: withHiddenSecret({
      credentialId: row.id,
      secret: opened.secret ?? '',
      kind: row.kind,
      ...defined({
        headers: Object.keys(headers).length > 0 ? headers : undefined,
        baseUrl: row.oauth?.baseUrl === undefined ? undefined : row.oauth.baseUrl,
      }),
    }),
    uses: row.useCount + uncommittedUses(row.id),
    ...defined({ expiresAt: row.expiresAt }),
    canRefresh: row.sealed.refreshToken !== undefined && flow !== undefined,
    canRefreshEntitlement: row.sealed.refreshToken !== undefined && flow?.accountUrl !== undefined,
    ...defined({ dead: dead === undefined ? undefined : `${row.label}: ${dead}` }),
  }
}

type SecretOutcome = { secret: string; fault?: never } | { secret?: never; fault: string }

/** A rejected key file disables the stored credentials only; keys from the environment stay usable. */
function openSecret(box: SecretBox, { id, sealed }: StoredCredential): SecretOutcome {
  try {
    const secret = box.open(sealed.secret, id)
    return secret === undefined
      ? { fault: 'its secret cannot be decrypted with the key file of this home' }
      : { secret }
  } catch (error) {
    if (error instanceof Problem) return { fault: error.message }
    throw error
  }
}

const environmentCandidate = (
  { id, secret }: EnvironmentKey,
  { uncommittedUses }: CandidateDeps,
): UnrankedCandidate => ({
  id,
  grant: withHiddenSecret({ credentialId: id, secret, kind: 'api-key' }),
  uses: uncommittedUses(id),
  canRefresh: true,
  canRefreshEntitlement: false,
})

/** The same key under two names is one credential: it fails the same way and shares the cooldown. */
function uniqueBySecret(all: Candidate[]): Candidate[] {
  const kept = new Map<string, Candidate>()
  const others: Candidate[] = []
  for (const candidate of all) {
    const duplicate = candidate.dead === undefined ? kept.get(candidate.grant.secret) : undefined
    if (candidate.dead !== undefined) others.push(candidate)
    else if (!duplicate) kept.set(candidate.grant.secret, candidate)
    else if (candidate.cooldown && candidate.cooldown.until > (duplicate.cooldown?.until ?? 0))
      duplicate.cooldown = candidate.cooldown
  }
  return [...kept.values(), ...others].sort((one, other) => one.position - other.position)
}

/** A grant whose secret is readable as a property and masked in JSON and in logs. */
function withHiddenSecret(grant: Grant): Grant {
  const redacted = () => ({ ...grant, secret: '[secret]' })
  return Object.defineProperties(grant, { toJSON: { value: redacted }, [inspect.custom]: { value: redacted } })
}
