import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Limits } from '../core/limits.ts'
import { type KeptKey, type KeyId, keyPrefix, keyState } from '../core/people.ts'
import type { KeyStore } from '../ports/people-store.ts'
import { type Bucket, newBucket } from './rate-limit.ts'

/** A key in use. */
export type HeldKey = {
  kept: KeptKey
  bucket: Bucket | undefined
  /** What it holds open: requests that wait, and streams. */
  open: Set<FastifyReply>
}

export type Shown = { type: 'valid'; held: HeldKey } | { type: 'ended'; kept: KeptKey } | { type: 'unknown' }

export type KeyRing = {
  /** At hand without asking the store; undefined where it must be asked. */
  known(shown: string): Shown | undefined
  find(shown: string): Promise<Shown>
  /** Asks the store again about every key in use, and ends what revoked ones hold open. */
  recheck(): Promise<void>
  close(): void
}

type Options = {
  keys: Pick<KeyStore, 'byPrefix' | 'revokedOf'>
  limits: Limits
  /** Ends what a key holds open. */
  end(reply: FastifyReply): void
  report(fault: unknown, where: string): void
}

/** How long a look at the store is good for: with the time of the look itself, a revocation holds within a second. */
const GOOD_FOR_MS = 500
const FORGET_AFTER_MS = 60_000

type Entry = HeldKey & { digest: Buffer; lookedAt: number; usedAt: number }

/** The keys in use, so that the store is asked about each twice a second and not with every request. */
export function newKeyRing({ keys, limits, end, report }: Options): KeyRing {
  const entries = new Map<string, Entry>()
  let isClosed = false
  let looking: Promise<void> | undefined
  let isAway = false

  const timer = setInterval(() => void look(), GOOD_FOR_MS)
  timer.unref()

  function judge(entry: Entry, shown: string): Shown {
    if (!timingSafeEqual(hash('sha256', shown, 'buffer'), entry.digest)) return { type: 'unknown' }
    const { kept } = entry
    if (keyState(kept, Date.now()) !== 'valid') return { type: 'ended', kept }
    entry.usedAt = Date.now()
    return { type: 'valid', held: entry }
  }

  function keep(kept: KeptKey): Entry {
    const entry = entries.get(kept.prefix) ?? {
      ...{
        kept,
        digest: Buffer.from(kept.digest, 'hex'),
        open: new Set<FastifyReply>(),
        lookedAt: 0,
        usedAt: Date.now(),
      },
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
    known(shown) {
      const entry = entries.get(keyPrefix(shown) ?? '')
      return entry && Date.now() - entry.lookedAt < GOOD_FOR_MS ? judge(entry, shown) : undefined
    },
    async find(shown) {
      const prefix = keyPrefix(shown)
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
