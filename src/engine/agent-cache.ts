import type { ConversationId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'

export type CacheLimits = { entries: number; bytes: number; idleMs: number }

/** What makes an entry fit: everything baked into it, and the place in the conversation it was built at. */
export type CacheKey = { signature: string; sequence: string }

export type EvictionReason = 'entries' | 'bytes' | 'idle' | 'stale' | 'conversation-over'

type CacheEvents = {
  evicted?(id: ConversationId, reason: EvictionReason): void
  /** Over its limit because all that could go is in a turn. */
  overfull?(active: readonly ConversationId[]): void
}

/** A conversation in a turn. What it held may be used; what it will hold is handed back at the end. */
type CacheHandle<Value> = {
  /** Absent: it must be built. */
  readonly value: Value | undefined
  /** The turn is over and this is what the next one may start from. */
  release(key: CacheKey, value: Value, bytes: number): void
  /** The turn is over and nothing it knew can be trusted. */
  drop(): void
}

type CacheState = {
  entries: number
  bytes: number
  /** In a turn: these cannot be evicted. */
  active: ConversationId[]
  limits: CacheLimits
  /** Since the process began. */
  hits: number
  misses: Record<MissReason, number>
  evictions: Record<EvictionReason, number>
}

type MissReason = 'absent' | 'stale'

export type AgentCache<Value> = {
  acquire(id: ConversationId, key: CacheKey): CacheHandle<Value>
  /** The conversation was deleted or begun anew: what is kept of it goes, what a turn will hand back is not taken. */
  forget(id: ConversationId): void
  /** Evicts entries that were idle for too long. Answers how many. */
  sweep(): number
  state(): CacheState
}

type CacheEntry<Value> = { key: CacheKey; value: Value; bytes: number; usedAt: number }

export type CacheOptions<Value> = {
  limits: CacheLimits
  clock: Pick<Clock, 'monotonic'>
  /** Lets go of what a value holds open. Never of the workspace: that belongs to the conversation. */
  dispose(id: ConversationId, value: Value): void
  events?: CacheEvents
}

/**
 * Warm agents by conversation, oldest use first. A performance layer only: what is not here is built again, the same.
 * Only the oldest of what is too much may go; one of them that is in a turn stays, and no younger one goes in its place.
 */
export function newAgentCache<Value>({ limits, clock, dispose, events = {} }: CacheOptions<Value>): AgentCache<Value> {
  const entries = new Map<ConversationId, CacheEntry<Value>>()
  /** The turn that has a conversation in hand. One that builds has no entry yet: it protects nothing and blocks no other. */
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

  /** Once each time it happens, not with every entry that comes while it lasts. */
  function warnIfOverfull(): void {
    const isOverfull = entries.size > limits.entries || bytes > limits.bytes
    if (isOverfull && !wasOverfull) events.overfull?.([...entries.keys()].filter(isActive))
    wasOverfull = isOverfull
  }

  function keep(id: ConversationId, entry: CacheEntry<Value>): void {
    const before = entries.get(id)
    bytes += entry.bytes - (before?.bytes ?? 0)
    // The one that was used last is the youngest.
    entries.delete(id)
    entries.set(id, entry)
    if (before && before.value !== entry.value) dispose(id, before.value)
  }

  return {
    acquire(id, key) {
      const found = entries.get(id)
      const isFit = found !== undefined && isSame(found.key, key)
      if (isFit) {
        hits++
        keep(id, { ...found, usedAt: clock.monotonic() })
      } else {
        misses[found ? 'stale' : 'absent']++
        remove(id, 'stale')
      }
      const holder = Symbol(id)
      holders.set(id, holder)
      /** False: another turn began, or the conversation was forgotten. What this one knows is the past. */
      const endTurn = (): boolean => holders.get(id) === holder && holders.delete(id)
      return {
        value: isFit ? found.value : undefined,
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
