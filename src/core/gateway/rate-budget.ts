/** How often a platform may be called. Pure: the caller passes the time. */
export type Pace = {
  /** Least time between two calls to one chat, and how many may come at once. */
  privateMs: number
  groupMs: number
  burst: number
  groupBurst: number
  perSecond: number
  /** Where edits have a limit of their own for the whole account: how many interim ones. */
  interimPerMinute?: number
}

type Bucket = { tokens: number; at: number }

/**
 * Token buckets for each chat and for the whole account. Messages wait for their turn; interim edits are skipped, and
 * leave a reserve for messages.
 */
type RateBudget = {
  /** Takes one call, or says how long to wait. */
  take(chat: ChatPace, now: number): number
  /** Takes one call only if others would not have to wait for it. */
  takeSpare(chat: ChatPace, now: number): boolean
  /** The platform asked for a pause, of one chat or of all. */
  pause(chatId: string | undefined, until: number): void
}

type ChatPace = { chatId: string; isPrivate: boolean }

/** Chats remembered; idle ones have full buckets, so forgetting them changes nothing. */
const REMEMBERED = 1_000
/** Of the calls that may come at once, those that interim edits leave for messages. */
const RESERVE = 0.6
/** Interim edits of all chats that may come at once. */
const INTERIM_BURST = 10
/** Of the calls of a second, those that may come at once. */
const BURST_SHARE = 0.15

export function newRateBudget(pace: Pace): RateBudget {
  const chats = new Map<string, Bucket>()
  // A full bucket and its refill of a second must stay below the limit together.
  const allSize = Math.max(1, pace.perSecond * BURST_SHARE)
  const all: Bucket = { tokens: allSize, at: 0 }
  const { interimPerMinute } = pace
  const interim: Bucket = { tokens: INTERIM_BURST, at: 0 }
  const pausedUntil = new Map<string, number>()
  let allPausedUntil = 0

  const refill = (bucket: Bucket, { size, everyMs, now }: { size: number; everyMs: number; now: number }): number => {
    // A clock that was set back refills nothing, and a chat never waits for it to catch up.
    const passed = Math.max(0, now - bucket.at)
    bucket.tokens = Math.min(size, bucket.tokens + passed / everyMs)
    bucket.at = now
    return bucket.tokens >= 1 ? 0 : Math.ceil((1 - bucket.tokens) * everyMs)
  }

  function bucketOf(chatId: string, size: number, now: number): Bucket {
    const known = chats.get(chatId)
    if (known) return known
    if (chats.size >= REMEMBERED) forgetOldest()
    const fresh = { tokens: size, at: now }
    chats.set(chatId, fresh)
    return fresh
  }

  function forgetOldest(): void {
    const oldest = chats.keys().next().value
    if (oldest !== undefined) chats.delete(oldest)
  }

  function waitFor({ chatId, isPrivate }: ChatPace, now: number) {
    const size = isPrivate ? pace.burst : pace.groupBurst
    const everyMs = isPrivate ? pace.privateMs : pace.groupMs
    const chat = bucketOf(chatId, size, now)
    const forChat = refill(chat, { size, everyMs, now })
    const forAll = refill(all, { size: allSize, everyMs: 1_000 / pace.perSecond, now })
    const paused = Math.max(allPausedUntil, pausedUntil.get(chatId) ?? 0) - now
    return { chat, waitMs: Math.max(forChat, forAll, paused, 0) }
  }

  return {
    take(chat, now) {
      const { chat: bucket, waitMs } = waitFor(chat, now)
      if (waitMs > 0) return waitMs
      bucket.tokens -= 1
      all.tokens -= 1
      return 0
    },
    takeSpare(chat, now) {
      const { chat: bucket, waitMs } = waitFor(chat, now)
      const size = chat.isPrivate ? pace.burst : pace.groupBurst
      if (waitMs > 0 || bucket.tokens < Math.min(2, size) || all.tokens < allSize * RESERVE) return false
      if (interimPerMinute !== undefined) {
        if (refill(interim, { size: INTERIM_BURST, everyMs: 60_000 / interimPerMinute, now }) > 0) return false
        interim.tokens -= 1
      }
      bucket.tokens -= 1
      all.tokens -= 1
      return true
    },
    pause(chatId, until) {
      if (chatId === undefined) allPausedUntil = Math.max(allPausedUntil, until)
      else {
        pausedUntil.set(chatId, until)
        for (const [known, end] of pausedUntil) if (end < until - 3_600_000) pausedUntil.delete(known)
      }
    },
  }
}
