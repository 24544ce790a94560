import { untilAborted } from '../../core/abort.ts'
import type { CredentialId } from '../../core/credential.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore, StoredCredential } from '../../ports/credential-store.ts'
import type { Refreshed } from '../../ports/credentials.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import { StorageError } from '../../ports/storage-error.ts'
import { type FlowOverrides, flowFor } from './oauth-flows.ts'
import { refreshTokens, type Tokens } from './token-endpoint.ts'

type RefreshParts = {
  organizationId: OrganizationId
  store: CredentialStore
  box: SecretBox
  flows: FlowOverrides
  clock: Clock
  randomness: Pick<Randomness, 'uuid'>
  report(fault: unknown, where: string): void
  /** Longer than the token endpoint is waited for, so that nobody else asks meanwhile. */
  leaseMs?: number
}

type RefreshOnce = (id: CredentialId, asked: { failedSecret: string; signal: AbortSignal }) => Promise<Refreshed>

const LEASE_MS = 30_000
const POLL_MS = 50
/** How long the holder of a claim is watched before it is tried whether the claim has lapsed. */
const WATCH_MS = 1_000
const WRITE_AGAIN_MS = 1_000
const WRITES = 300

/**
 * Renews a stored credential once across all processes. Many askers of one process share one renewal, and whoever finds
 * that another process holds the claim waits for its result. Without a `failedSecret` whatever is there is renewed.
 */
export function refreshOnce(parts: RefreshParts): RefreshOnce {
  const underWay = new Map<CredentialId, Promise<Refreshed>>()
  return (id, { failedSecret, signal }) => {
    let renewal = underWay.get(id)
    if (!renewal) {
      // An asker who leaves does not stop it: a refresh token that was shown must not be lost.
      renewal = renew(id, failedSecret, parts).finally(() => underWay.delete(id))
      underWay.set(id, renewal)
    }
    return outcomeOf(renewal, signal)
  }
}

async function renew(id: CredentialId, failedSecret: string, parts: RefreshParts): Promise<Refreshed> {
  const { organizationId, store, box, randomness, leaseMs = LEASE_MS } = parts
  const claimId = randomness.uuid()
  let first: number | undefined
  for (;;) {
    const row = await store.get(organizationId, id)
    if (!row) return { type: 'failed', detail: 'there is no such credential any more' }
    first ??= row.generation
    if (row.generation !== first) return { type: 'refreshed' }
    if (row.state.type === 'dead') return { type: 'dead', detail: row.state.detail }
    const secret = box.open(row.sealed.secret, id)
    if (failedSecret !== '' && secret !== undefined && secret !== failedSecret) return { type: 'refreshed' }
    if (row.sealed.refreshToken === undefined) return { type: 'unchanged' }

    switch (await store.claimRefresh(id, { claimId, generation: row.generation, leaseMs })) {
      case 'claimed':
        return spend(row, claimId, parts)
      case 'held': {
        const outcome = await watchHolder(row, parts)
        if (outcome) return outcome
        break
      }
      case 'moved':
        break
    }
  }
}

/** Undefined: look again, the claim may have lapsed or the row moved. */
async function watchHolder(seen: StoredCredential, parts: RefreshParts): Promise<Refreshed | undefined> {
  const { organizationId, store, clock } = parts
  const end = clock.monotonic() + WATCH_MS
  while (clock.monotonic() < end) {
    await clock.sleep(POLL_MS)
    const row = await store.get(organizationId, seen.id)
    if (row?.generation !== seen.generation || row.state.type === 'dead') return undefined
    // Given back without a new secret: asking at once again, process after process, would help nobody.
    if (row.refreshingBy === undefined)
      return { type: 'failed', detail: row.refreshFailure ?? 'another process could not renew it' }
  }
  return undefined
}

/** The only place that shows a refresh token. If we die in here the claim lapses, and the token is tried once more. */
async function spend(row: StoredCredential, claimId: string, parts: RefreshParts): Promise<Refreshed> {
  const { store, box, flows, clock } = parts
  const giveBack = async (failure: string): Promise<Refreshed> => {
    await store.giveBackRefresh(row.id, { claimId, failure })
    return { type: 'failed', detail: failure }
  }
  const flow = row.oauth && flowFor(row.oauth, flows)
  if (!flow) return giveBack(`no OAuth flow is known by the name "${row.oauth?.flow ?? ''}"`)
  const refreshToken = box.open(row.sealed.refreshToken!, row.id)
  if (refreshToken === undefined) return giveBack('its refresh token cannot be opened with the key file of this home')

  // Our own deadline alone ends it: whoever asked may be gone, the token is not.
  const answer = await refreshTokens(refreshToken, { flow, now: clock.now(), signal: new AbortController().signal })
  switch (answer.type) {
    case 'tokens':
      return keep(row, answer.tokens, parts)
    case 'unavailable':
      return giveBack(answer.detail)
    case 'refused': {
      const detail = `${answer.code}: ${answer.detail}`
      if (!answer.isFinal) return giveBack(detail)
      const verdict = { generation: row.generation, reason: answer.code, detail, at: clock.now() }
      const isDead = await insist(() => store.bury(row.id, verdict), parts)
      return isDead ? { type: 'dead', detail } : { type: 'refreshed' }
    }
  }
}

async function keep(row: StoredCredential, tokens: Tokens, parts: RefreshParts): Promise<Refreshed> {
  const { store, box, clock } = parts
  const { secret, refreshToken, expiresAt, headers, baseUrl } = tokens
  const oauth = { ...row.oauth!, ...(headers ? { headers } : {}), ...(baseUrl === undefined ? {} : { baseUrl }) }
  // Sealed for each try: the key may be rotated between two of them.
  const write = () =>
    store.renew(row.id, {
      generation: row.generation,
      sealed: {
        secret: box.seal(secret, row.id),
        ...(refreshToken === undefined ? {} : { refreshToken: box.seal(refreshToken, row.id) }),
      },
      ...(expiresAt === undefined ? {} : { expiresAt }),
      oauth,
      at: clock.now(),
    })
  await insist(write, parts)
  // If it was not ours to write, somebody else has renewed it: there is a new secret in any case.
  return { type: 'refreshed' }
}

/** The old token is spent, so the new one exists only here: a full disk or a bad key file is waited out. */
async function insist<T>(write: () => Promise<T>, { clock, report }: RefreshParts): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const mayPass = error instanceof Problem || (error instanceof StorageError && error.mayPass)
      if (!mayPass || attempt === WRITES) throw error
      if (attempt === 1) report(error, 'keeping a renewed credential')
      await clock.sleep(WRITE_AGAIN_MS)
    }
  }
}

async function outcomeOf(renewal: Promise<Refreshed>, signal: AbortSignal): Promise<Refreshed> {
  try {
    return (await untilAborted(renewal, signal)) ?? { type: 'failed', detail: 'the wait for its renewal was ended' }
  } catch (error) {
    // A key file that is refused, or a store that is away: both say what to do.
    if (error instanceof StorageError || error instanceof Problem) return { type: 'failed', detail: error.message }
    throw error
  }
}
