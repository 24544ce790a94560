import { untilAborted } from '../../core/abort.ts'
import type { CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore, StoredCredential } from '../../ports/credential-store.ts'
import type { RefreshResult } from '../../ports/credentials.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import { StorageError } from '../../ports/storage-error.ts'
import type { RedeemRefreshToken, RefreshOnce, Tokens } from '../../ports/token-refresh.ts'

type RefreshDeps = {
  store: CredentialStore
  box: SecretBox
  /** The only function that sends a refresh token. Nothing but its own timeout ends it, because the token is spent. */
  redeem: RedeemRefreshToken
  clock: Clock
  randomness: Pick<Randomness, 'uuid'>
  report(fault: unknown, where: string): void
  /** Longer than the timeout of the token endpoint, so that no other process sends the same refresh token. */
  leaseMs?: number
}

const LEASE_MS = 30_000
const POLL_MS = 50
/** How long to wait for the holder of a claim before trying whether the claim has expired. */
const HOLDER_WAIT_MS = 1_000
const WRITE_RETRY_MS = 1_000
const MAX_WRITES = 300

/**
 * Renews a stored credential once across all processes. Callers in one process share one renewal, and a process that
 * finds the claim held by another waits for its result. An empty `failedSecret` renews the current secret.
 */
export function newRefreshOnce(deps: RefreshDeps): RefreshOnce {
  const inFlight = new Map<CredentialId, Promise<RefreshResult>>()
  return (id, { organizationId, failedSecret, signal }) => {
    let renewal = inFlight.get(id)
    if (!renewal) {
      // A caller that aborts does not stop the renewal: the new tokens must not be lost once the old one was sent.
      renewal = renew({ id, organizationId, failedSecret }, deps).finally(() => inFlight.delete(id))
      inFlight.set(id, renewal)
    }
    return awaitRenewal(renewal, signal)
  }
}

type RefreshRequest = { id: CredentialId; organizationId: OrganizationId; failedSecret: string }

async function renew({ id, organizationId, failedSecret }: RefreshRequest, deps: RefreshDeps): Promise<RefreshResult> {
  const { store, box, randomness, leaseMs = LEASE_MS } = deps
  const claimId = randomness.uuid()
  let firstGeneration: number | undefined
  for (;;) {
    const row = await store.get(organizationId, id)
    if (!row) return { type: 'failed', detail: 'the credential no longer exists' }
    firstGeneration ??= row.generation
    if (row.generation !== firstGeneration) return { type: 'refreshed' }
    if (row.state.type === 'dead') return { type: 'dead', detail: row.state.detail }
    const secret = box.open(row.sealed.secret, id)
    if (failedSecret !== '' && secret !== undefined && secret !== failedSecret) return { type: 'refreshed' }
    if (row.sealed.refreshToken === undefined) return { type: 'unchanged' }

    switch (await store.claimRefresh(id, { claimId, generation: row.generation, leaseMs })) {
      case 'claimed':
        return redeemRefreshToken(row, claimId, deps)
      case 'held': {
        const outcome = await waitForHolder(row, deps)
        if (outcome) return outcome
        break
      }
      case 'moved':
        break
    }
  }
}

/** Undefined means: load the row again, because the claim may have expired or the row changed. */
async function waitForHolder(seen: StoredCredential, deps: RefreshDeps): Promise<RefreshResult | undefined> {
  const { store, clock } = deps
  const end = clock.monotonic() + HOLDER_WAIT_MS
  while (clock.monotonic() < end) {
    await clock.sleep(POLL_MS)
    const row = await store.get(seen.organizationId, seen.id)
    if (row?.generation !== seen.generation || row.state.type === 'dead') return undefined
    // The holder released the claim without a new secret: a retry by every waiting process would fail the same way.
    if (row.refreshingBy === undefined)
      return { type: 'failed', detail: row.refreshFailure ?? 'another process could not refresh it' }
  }
  return undefined
}

/** If the process dies here, the claim expires and another one retries. */
async function redeemRefreshToken(row: StoredCredential, claimId: string, deps: RefreshDeps): Promise<RefreshResult> {
  const { store, box, clock, redeem } = deps
  const releaseClaim = async (failure: string): Promise<RefreshResult> => {
    await store.releaseRefresh(row.id, { claimId, failure })
    return { type: 'failed', detail: failure }
  }
  const refreshToken = box.open(row.sealed.refreshToken!, row.id)
  if (refreshToken === undefined)
    return releaseClaim('its refresh token cannot be decrypted with the key file of this home')

  const answer = await redeem(row, refreshToken)
  switch (answer.type) {
    case 'tokens':
      return storeRenewedTokens(row, answer.tokens, deps)
    case 'unavailable':
      return releaseClaim(answer.detail)
    case 'refused': {
      const detail = `${answer.code}: ${answer.detail}${wasLost(row) ? LOST : ''}`
      if (!answer.isFinal) return releaseClaim(detail)
      const verdict = { generation: row.generation, reason: answer.code, detail, at: clock.now() }
      const isDead = await retryWrite(() => store.markDead(row.id, verdict), deps)
      return isDead ? { type: 'dead', detail } : { type: 'refreshed' }
    }
  }
}

/** The claim before this one was never released: its process died, perhaps with the new tokens. */
const wasLost = ({ refreshingBy }: StoredCredential): boolean => refreshingBy !== undefined
const LOST = ' (a process that ended while it renewed the token may have received the new one; sign in again)'

async function storeRenewedTokens(row: StoredCredential, tokens: Tokens, deps: RefreshDeps): Promise<RefreshResult> {
  const { store, box, clock } = deps
  const { secret, refreshToken, expiresAt, headers, baseUrl } = tokens
  const oauth = { ...row.oauth!, ...defined({ headers, baseUrl }) }
  // Sealed again for each retry: the key may be rotated in between.
  const write = () =>
    store.renew(row.id, {
      generation: row.generation,
      sealed: {
        secret: box.seal(secret, row.id),
        ...defined({ refreshToken: refreshToken === undefined ? undefined : box.seal(refreshToken, row.id) }),
      },
      ...defined({ expiresAt }),
      oauth,
      at: clock.now(),
    })
  await retryWrite(write, deps)
  // If the generation has moved, another process renewed the credential: there is a new secret in either case.
  return { type: 'refreshed' }
}

/** The old token is spent and the new one exists only in memory, so a full disk or a bad key file is retried. */
async function retryWrite<T>(write: () => Promise<T>, { clock, report }: RefreshDeps): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const mayPass = error instanceof Problem || (error instanceof StorageError && error.isTransient)
      if (!mayPass || attempt === MAX_WRITES) throw error
      if (attempt === 1) report(error, 'storing a refreshed credential')
      await clock.sleep(WRITE_RETRY_MS)
    }
  }
}

async function awaitRenewal(renewal: Promise<RefreshResult>, signal: AbortSignal): Promise<RefreshResult> {
  try {
    return (await untilAborted(renewal, signal)) ?? { type: 'failed', detail: 'it takes too long' }
  } catch (error) {
    // A rejected key file or an unavailable store: both messages say what to do.
    if (error instanceof StorageError || error instanceof Problem) return { type: 'failed', detail: error.message }
    throw error
  }
}
