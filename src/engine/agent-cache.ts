import type { ConversationId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'

export type CacheLimits = { entries: number; bytes: number; idleMs: number }

/** An entry is valid only for the same settings (`signature`) and position in the conversation (`sequence`). */
export type CacheKey = { signature: string; sequence: string }

export type EvictionReason = 'entries' | 'bytes' | 'idle' | 'stale' | 'conversation-over'

type CacheEvents = {
  evicted?(id: ConversationId, reason: EvictionReason): void
  /** The cache is over its limit because every entry that could be evicted is in a turn. */
  overfull?(active: readonly ConversationId[]): void
}

/** A conversation acquired by a turn. The turn may use the cached value and returns the new one at its end. */
type CacheHandle<Value> = {
  /** Undefined: a cache miss. */
  readonly value: Value | undefined
  /** Ends the turn and stores the value for the next one. */
  release(key: CacheKey, value: Value, bytes: number): void
  /** Ends the turn and discards its value. */
  drop(): void
}

type CacheState = {
  entries: number
  bytes: number
  /** Entries in a turn; these cannot be evicted. */
  active: ConversationId[]
  limits: CacheLimits
  /** Since the process started. */
  hits: number
  misses: Record<MissReason, number>
  evictions: Record<EvictionReason, number>
}

type MissReason = 'absent' | 'stale'

export type AgentCache<Value> = {
  acquire(id: ConversationId, key: CacheKey): CacheHandle<Value>
  /** The conversation was deleted or reset: evicts its entry, and ignores the value that a running turn returns. */
  forget(id: ConversationId): void
  /** Evicts idle entries and returns their number. */
  sweep(): number
  state(): CacheState
}

type CacheEntry<Value> = { key: CacheKey; value: Value; bytes: number; usedAt: number }

export type CacheOptions<Value> = {
  limits: CacheLimits
  clock: Pick<Clock, 'monotonic'>
  /** Frees the resources of a value, never the workspace: that belongs to the conversation. */
  dispose(id: ConversationId, value: Value): void
  events?: CacheEvents
}

/**
 * An LRU cache by conversation. A performance layer only: a miss rebuilds the same value. Only the least recently used
 * entries above the limit are evicted; one of them that is in a turn stays, and no newer entry is evicted in its place.
 */
export function newAgentCache<Value>({ limits, clock, dispose, events = {} }: CacheOptions<Value>): AgentCache<Value> {
  const entries = new Map<ConversationId, CacheEntry<Value>>()
  /** The turn that holds each conversation. A turn after a miss has no entry yet: it protects and blocks nothing. */
  const holders = new Map<ConversationId, symbol>()
  const misses: Record<MissReason, number> = { absent: 0, stale: 0 }
  const evictions: Record<EvictionReason, number> = { entries: 0, bytes: 0, idle: 0, stale: 0, 'conversation-over': 0 }
  let hits = 0
  let bytes = 0
  let wasOverfull = false

  const isActive = (id: ConversationId): boolean => holders.has(id) && entries.has(id)

  function remove(id: ConversationId, reason: EvictionReason): void {
    const entry = entries.get(id)
    if (!entry) return
    entries.delete(id)
    bytes -= entry.bytes
    evictions[reason]++
    events.evicted?.(id, reason)
    dispose(id, entry.value)
  }

  function enforce(): void {
    trim('entries', entries.size - limits.entries)
    trim('bytes', oldestThatMakeUp(bytes - limits.bytes))
    warnIfOverfull()
  }

  function trim(reason: 'entries' | 'bytes', excess: number): void {
    if (excess <= 0) return
    for (const id of [...entries.keys()].slice(0, excess)) if (!isActive(id)) remove(id, reason)
  }

  function oldestThatMakeUp(tooMuch: number): number {
    let count = 0
    let left = tooMuch
    for (const entry of entries.values()) {
      if (left <= 0) break
      left -= entry.bytes
      count++
    }
    return count
  }

  /** Warns once each time the cache becomes overfull. */
  function warnIfOverfull(): void {
    const isOverfull = entries.size > limits.entries || bytes > limits.bytes
    if (isOverfull && !wasOverfull) events.overfull?.([...entries.keys()].filter(isActive))
    wasOverfull = isOverfull
  }

  function keep(id: ConversationId, entry: CacheEntry<Value>): void {
    const before = entries.get(id)
    bytes += entry.bytes - (before?.bytes ?? 0)
    // Reinserting makes it the most recently used.
    entries.delete(id)
    entries.set(id, entry)
    if (before && before.value !== entry.value) dispose(id, before.value)
  }

  return {
    acquire(id, key) {
      const found = entries.get(id)
      const isHit = found !== undefined && isSame(found.key, key)
      if (isHit) {
        hits++
        keep(id, { ...found, usedAt: clock.monotonic() })
      } else {
        misses[found ? 'stale' : 'absent']++
        remove(id, 'stale')
      }
      const holder = Symbol(id)
      holders.set(id, holder)
      /** False: another turn began or the conversation was forgotten, so this turn's value is stale. */
      const endTurn = (): boolean => holders.get(id) === holder && holders.delete(id)
      return {
        value: isHit ? found.value : undefined,
        release(now, value, size) {
          if (!endTurn()) return dispose(id, value)
          keep(id, { key: now, value, bytes: size, usedAt: clock.monotonic() })
          enforce()
        },
        drop() {
          if (endTurn()) remove(id, 'stale')
        },
      }
    },
    forget(id) {
      holders.delete(id)
      remove(id, 'conversation-over')
    },
    sweep() {
      const before = entries.size
      for (const [id, { usedAt }] of [...entries])
        if (!isActive(id) && clock.monotonic() - usedAt > limits.idleMs) remove(id, 'idle')
      return before - entries.size
    },
    state: () => ({
      entries: entries.size,
      bytes,
      active: [...entries.keys()].filter(isActive),
      limits,
      hits,
      misses: { ...misses },
      evictions: { ...evictions },
    }),
  }
}

const isSame = (one: CacheKey, other: CacheKey): boolean =>
  one.signature === other.signature && one.sequence === other.sequence
