import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Limits } from '../core/limits.ts'
import { type KeyId, keyState, parseKeyPrefix, type StoredKey } from '../core/people.ts'
import type { KeyStore } from '../ports/people-store.ts'
import { type Bucket, newBucket } from './rate-limit.ts'
import type { StreamShare, Traffic } from './tenant-traffic.ts'

/** A key in use. */
export type ActiveKey = {
  stored: StoredKey
  bucket: Bucket | undefined
  /** Its open requests and streams. */
  open: Set<FastifyReply>
} & StreamShare

export type KeyLookupResult =
  | { type: 'valid'; key: ActiveKey }
  | { type: 'ended'; stored: StoredKey }
  | { type: 'unknown' }

export type KeyRing = {
  /** The cached result; undefined if the store must be queried. */
  findCached(token: string): KeyLookupResult | undefined
  find(token: string): Promise<KeyLookupResult>
  /** Checks every active key against the store and ends the open requests of revoked keys. */
  recheck(): Promise<void>
  /** Open requests and streams of a key. */
  openOf(id: KeyId): { open: number; streams: number }
  close(): void
}

type KeyRingOptions = {
  keys: Pick<KeyStore, 'byPrefix' | 'revokedOf'>
  limits: Limits
  traffic: Pick<Traffic, 'of'>
  /** Ends an open request of a revoked key. */
  end(reply: FastifyReply): void
  report(fault: unknown, where: string): void
}

/** Cache lifetime of a key. With the time of the query itself, a revocation takes effect within a second. */
const FRESH_FOR_MS = 500
const FORGET_AFTER_MS = 60_000

type Entry = ActiveKey & { digest: Buffer; checkedAt: number; usedAt: number }

/** Cache of the active keys: the store is queried about each key twice a second instead of with every request. */
export function newKeyRing({ keys, limits, traffic, end, report }: KeyRingOptions): KeyRing {
  const entries = new Map<string, Entry>()
  let isClosed = false
  let checking: Promise<void> | undefined
  let isStoreDown = false

  const timer = setInterval(() => void checkOnce(), FRESH_FOR_MS)
  timer.unref()

  function checkToken(entry: Entry, token: string): KeyLookupResult {
    if (!timingSafeEqual(hash('sha256', token, 'buffer'), entry.digest)) return { type: 'unknown' }
    const { stored } = entry
    if (keyState(stored, Date.now()) !== 'valid') return { type: 'ended', stored }
    entry.usedAt = Date.now()
    return { type: 'valid', key: entry }
  }

  async function cache(stored: StoredKey): Promise<Entry> {
    const organization = await traffic.of(stored.organizationId)
    const entry = entries.get(stored.prefix) ?? {
      stored,
      digest: Buffer.from(stored.digest, 'hex'),
      open: new Set<FastifyReply>(),
      checkedAt: 0,
      usedAt: Date.now(),
      bucket: limits.requestsPerSecond > 0 ? newBucket(rateOf(limits)) : undefined,
      streams: 0,
      organization,
    }
    entry.stored = stored
    entry.organization = organization
    entry.checkedAt = Date.now()
    entries.set(stored.prefix, entry)
    return entry
  }

  async function check(): Promise<void> {
    const now = Date.now()
    for (const [prefix, { open, usedAt }] of entries)
      if (open.size === 0 && now - usedAt > FORGET_AFTER_MS) entries.delete(prefix)
    const busy = [...entries.values()].filter(({ open }) => open.size > 0)
    if (busy.length === 0) return
    const revoked = new Set<KeyId>(await keys.revokedOf(busy.map(({ stored }) => stored.id)))
    for (const entry of busy) {
      if (!revoked.has(entry.stored.id) && keyState(entry.stored, Date.now()) === 'valid') continue
      entry.checkedAt = 0
      for (const reply of [...entry.open]) end(reply)
    }
  }

  /** Single-flight: a slow store is not queried again before it has answered. */
  function checkOnce(): Promise<void> {
    checking ??= check()
      .then(() => {
        isStoreDown = false
      })
      .catch((fault) => {
        // Reported once per outage, although the check is repeated.
        if (!isClosed && !isStoreDown) report(fault, 'checking for revoked keys')
        isStoreDown = true
      })
      .finally(() => {
        checking = undefined
      })
    return checking
  }

  return {
    findCached(token) {
      const entry = entries.get(parseKeyPrefix(token) ?? '')
      return entry && Date.now() - entry.checkedAt < FRESH_FOR_MS ? checkToken(entry, token) : undefined
    },
    async find(token) {
      const prefix = parseKeyPrefix(token)
      const stored = prefix && (await keys.byPrefix(prefix))
      return stored ? checkToken(await cache(stored), token) : { type: 'unknown' }
    },
    async recheck() {
      for (const entry of entries.values()) entry.checkedAt = 0
      // A check in flight may have read the store before the change.
      await checking
      await checkOnce()
    },
    openOf(id) {
      for (const { stored, open, streams } of entries.values())
        if (stored.id === id) return { open: open.size, streams }
      return { open: 0, streams: 0 }
    },
    close() {
      isClosed = true
      clearInterval(timer)
    },
  }
}

/** The burst is two seconds' worth of requests. */
const rateOf = ({ requestsPerSecond }: Limits) => ({ perSecond: requestsPerSecond, burst: 2 * requestsPerSecond })
