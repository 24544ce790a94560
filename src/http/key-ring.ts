import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Limits } from '../core/limits.ts'
import { type KeyId, keyState, parseKeyPrefix, type StoredKey } from '../core/people.ts'
import type { KeyStore } from '../ports/people-store.ts'
import { type Bucket, newBucket } from './rate-limit.ts'

/** A key in use. */
export type ActiveKey = {
  kept: StoredKey
  bucket: Bucket | undefined
  /** What it holds open: requests that wait, and streams. */
  open: Set<FastifyReply>
}

export type KeyLookupResult =
  | { type: 'valid'; held: ActiveKey }
  | { type: 'ended'; kept: StoredKey }
  | { type: 'unknown' }

export type KeyRing = {
  /** At hand without asking the store; undefined where it must be asked. */
  findCached(shown: string): KeyLookupResult | undefined
  find(shown: string): Promise<KeyLookupResult>
  /** Asks the store again about every key in use, and ends what revoked ones hold open. */
  recheck(): Promise<void>
  close(): void
}

type KeyRingOptions = {
  keys: Pick<KeyStore, 'byPrefix' | 'revokedOf'>
  limits: Limits
  /** Ends what a key holds open. */
  end(reply: FastifyReply): void
  report(fault: unknown, where: string): void
}

/** How long a look at the store is good for: with the time of the look itself, a revocation holds within a second. */
const FRESH_FOR_MS = 500
const FORGET_AFTER_MS = 60_000

type Entry = ActiveKey & { digest: Buffer; lookedAt: number; usedAt: number }

/** The keys in use, so that the store is asked about each twice a second and not with every request. */
export function newKeyRing({ keys, limits, end, report }: KeyRingOptions): KeyRing {
  const entries = new Map<string, Entry>()
  let isClosed = false
  let looking: Promise<void> | undefined
  let isAway = false

  const timer = setInterval(() => void look(), FRESH_FOR_MS)
  timer.unref()

  function judge(entry: Entry, shown: string): KeyLookupResult {
    if (!timingSafeEqual(hash('sha256', shown, 'buffer'), entry.digest)) return { type: 'unknown' }
    const { kept } = entry
    if (keyState(kept, Date.now()) !== 'valid') return { type: 'ended', kept }
    entry.usedAt = Date.now()
    return { type: 'valid', held: entry }
  }

  function keep(kept: StoredKey): Entry {
    const entry = entries.get(kept.prefix) ?? {
      kept,
      digest: Buffer.from(kept.digest, 'hex'),
      open: new Set<FastifyReply>(),
      lookedAt: 0,
      usedAt: Date.now(),
      bucket: limits.requestsPerSecond > 0 ? newBucket(rateOf(limits)) : undefined,
    }
    entry.kept = kept
    entry.lookedAt = Date.now()
    entries.set(kept.prefix, entry)
    return entry
  }

  async function check(): Promise<void> {
    const now = Date.now()
    for (const [prefix, { open, usedAt }] of entries)
      if (open.size === 0 && now - usedAt > FORGET_AFTER_MS) entries.delete(prefix)
    const busy = [...entries.values()].filter(({ open }) => open.size > 0)
    if (busy.length === 0) return
    const revoked = new Set<KeyId>(await keys.revokedOf(busy.map(({ kept }) => kept.id)))
    for (const entry of busy) {
      if (!revoked.has(entry.kept.id) && keyState(entry.kept, Date.now()) === 'valid') continue
      entry.lookedAt = 0
      for (const reply of [...entry.open]) end(reply)
    }
  }

  /** One at a time: a store that is slow is not asked again before it has answered. */
  function look(): Promise<void> {
    looking ??= check()
      .then(() => {
        isAway = false
      })
      .catch((fault) => {
        // Said once: while the store is away it is asked again and again.
        if (!isClosed && !isAway) report(fault, 'looking for revoked keys')
        isAway = true
      })
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  return {
    findCached(shown) {
      const entry = entries.get(parseKeyPrefix(shown) ?? '')
      return entry && Date.now() - entry.lookedAt < FRESH_FOR_MS ? judge(entry, shown) : undefined
    },
    async find(shown) {
      const prefix = parseKeyPrefix(shown)
      const kept = prefix && (await keys.byPrefix(prefix))
      return kept ? judge(keep(kept), shown) : { type: 'unknown' }
    },
    async recheck() {
      for (const entry of entries.values()) entry.lookedAt = 0
      // One that is under way may have asked before the change.
      await looking
      await look()
    },
    close() {
      isClosed = true
      clearInterval(timer)
    },
  }
}

/** Two seconds' worth may come at once. */
const rateOf = ({ requestsPerSecond }: Limits) => ({ perSecond: requestsPerSecond, burst: 2 * requestsPerSecond })
