import { inspect } from 'node:util'
import type { Cooldown, CredentialId } from '../../core/credential.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredCredential } from '../../ports/credential-store.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { EnvironmentKey } from './environment-keys.ts'
import { type FlowOverrides, flowFor } from './oauth-flows.ts'

/** One member of a pool, with its secret: never leaves this room but as a grant. */
export type Candidate = {
  grant: Grant
  id: CredentialId
  /** In the order of the pool. */
  place: number
  uses: number
  expiresAt?: number
  canRefresh: boolean
  canRefreshEntitlement: boolean
  /** Why nobody may use it. */
  dead?: string
  cooldown?: Cooldown
}

type PoolContents = {
  stored: readonly StoredCredential[]
  environment: readonly EnvironmentKey[]
  cooldowns: readonly Cooldown[]
}

type Means = { box: SecretBox; flows: FlowOverrides; uncommittedUses(id: CredentialId): number }

/** What somebody stored on purpose comes before what the environment happens to hold. */
export function candidatesOf({ stored, environment, cooldowns }: PoolContents, means: Means): Candidate[] {
  const all = [
    ...stored.map((row) => storedCandidate(row, means)),
    ...environment.map((key) => environmentCandidate(key, means)),
  ]
  const restOf = new Map(cooldowns.map((cooldown) => [cooldown.key, cooldown]))
  return withoutTwins(
    all.map((candidate, place) => {
      const cooldown = restOf.get(candidate.id)
      return { ...candidate, place, ...(cooldown ? { cooldown } : {}) }
    }),
  )
}

type Unplaced = Omit<Candidate, 'place' | 'cooldown'>

function storedCandidate(row: StoredCredential, { box, flows, uncommittedUses }: Means): Unplaced {
  const opened = openSecret(box, row)
  const flow = row.oauth && flowFor(row.oauth, flows)
  const headers = { ...flow?.grantHeaders, ...row.oauth?.headers }
  const dead = row.state.type === 'dead' ? row.state.detail : opened.fault
  return {
    id: row.id,
    grant: concealed({
      credentialId: row.id,
      secret: opened.secret ?? '',
      kind: row.kind,
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
      ...(row.oauth?.baseUrl === undefined ? {} : { baseUrl: row.oauth.baseUrl }),
    }),
    uses: row.useCount + uncommittedUses(row.id),
    ...(row.expiresAt === undefined ? {} : { expiresAt: row.expiresAt }),
    canRefresh: row.sealed.refreshToken !== undefined && flow !== undefined,
    canRefreshEntitlement: row.sealed.refreshToken !== undefined && flow?.accountUrl !== undefined,
    ...(dead === undefined ? {} : { dead: `${row.label}: ${dead}` }),
  }
}

type Opened = { secret: string; fault?: never } | { secret?: never; fault: string }

/** A key file that is refused keeps its credentials from being used, and nobody else's. */
function openSecret(box: SecretBox, { id, sealed }: StoredCredential): Opened {
  try {
    const secret = box.open(sealed.secret, id)
    return secret === undefined ? { fault: 'its secret cannot be opened with the key file of this home' } : { secret }
  } catch (error) {
    if (error instanceof Problem) return { fault: error.message }
    throw error
  }
}

const environmentCandidate = ({ id, secret }: EnvironmentKey, { uncommittedUses }: Means): Unplaced => ({
  id,
  grant: concealed({ credentialId: id, secret, kind: 'api-key' }),
  uses: uncommittedUses(id),
  canRefresh: true,
  canRefreshEntitlement: false,
})

/** The same key under two names is one credential: its sibling would fail as it did, and rests as it does. */
function withoutTwins(all: Candidate[]): Candidate[] {
  const kept = new Map<string, Candidate>()
  const others: Candidate[] = []
  for (const candidate of all) {
    const twin = candidate.dead === undefined ? kept.get(candidate.grant.secret) : undefined
    if (candidate.dead !== undefined) others.push(candidate)
    else if (!twin) kept.set(candidate.grant.secret, candidate)
    else if (candidate.cooldown && candidate.cooldown.until > (twin.cooldown?.until ?? 0))
      twin.cooldown = candidate.cooldown
  }
  return [...kept.values(), ...others].sort((one, other) => one.place - other.place)
}

/** A grant that shows its secret to the request it is for, and to no log. */
function concealed(grant: Grant): Grant {
  const shown = () => ({ ...grant, secret: '[secret]' })
  return Object.defineProperties(grant, { toJSON: { value: shown }, [inspect.custom]: { value: shown } })
}
