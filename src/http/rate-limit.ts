/** Token bucket: a steady rate with bounded bursts. */
export type Bucket = {
  /** Takes a token and returns 0, or returns the milliseconds until the next token. */
  take(now: number): number
}

/** Grants `burst` tokens at once, then `perSecond`. */
export function newBucket({ perSecond, burst }: { perSecond: number; burst: number }): Bucket {
  let tokens = burst
  let filledAt = Number.NEGATIVE_INFINITY
  return {
    take(now) {
      const earned = Math.max(0, now - filledAt) * (perSecond / 1000)
      tokens = Math.min(burst, tokens + (Number.isFinite(earned) ? earned : burst))
      filledAt = now
      if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1000)
      tokens -= 1
      return 0
    },
  }
}

/**
 * One bucket for each name, the least recently used dropped first: clients choose the names, so their number is
 * bounded.
 */
export function newBuckets(most: number, fresh: () => Bucket): { of(name: string): Bucket } {
  const known = new Map<string, Bucket>()
  return {
    of(name) {
      const bucket = known.get(name) ?? fresh()
      known.delete(name)
      known.set(name, bucket)
      if (known.size > most) known.delete(known.keys().next().value!)
      return bucket
    },
  }
}
