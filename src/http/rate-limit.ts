/** Lets through what comes at a rate, and bursts up to a bound. */
export type Bucket = {
  /** 0: it may pass. Otherwise how many milliseconds until one more may. */
  take(now: number): number
}

/** `burst` may come at once; after that `perSecond`. */
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

/** One bucket for each name, of the names that were seen last: strangers choose them, so their number is bounded. */
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
