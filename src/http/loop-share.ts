import { performance } from 'node:perf_hooks'

/** Cumulative milliseconds in which the event loop waited and worked. */
type LoopTime = { idle: number; active: number }

type LoopShareOptions = {
  loopTime?: () => LoopTime
  now?: () => number
  /** Runs a task in a later turn of the event loop. */
  later?: (task: () => void) => void
}

type LoopShare = {
  /**
   * Starts a request of this organization, now or when its share allows. Returns what ends it: called when it was
   * answered, or when its client left.
   */
  enter(organization: string, start: () => void): () => void
  close(): void
}

type Account = {
  /** Milliseconds of the event loop that it may use before it has to wait. Negative: a debt. */
  credit: number
  /** Requests that use the event loop now. */
  inside: number
  startedAt: number
  waiting: Set<() => void>
}

/** Work that may be done at once after a pause. */
const MOST_CREDIT_MS = 30
/** One long request delays the next ones of its organization this long at most. */
const MOST_DEBT_MS = 500
/** Of the idle time, what each organization may use; and of all time, what it gets when none is idle. */
const SHARE_OF_IDLE = 0.5
const LEAST_SHARE = 0.05
/** Requests that an organization may start before their cost is known. */
const MOST_INSIDE = 2
/** An organization that used much lets the requests of others end first, but waits no longer for them than this. */
const YIELD_MS = 20
/** A request that takes longer waits for something else than the event loop. */
const WAITS_AFTER_MS = 50
/** Organizations whose requests are this far apart do not compete. */
const COMPETE_WITHIN_MS = 1_000
const TICK_MS = 2

/**
 * Divides the event loop between organizations with requests at the same time: each may use half as much of it as
 * is left idle. One greedy organization gets about 40 % of the loop, and the others find it idle for the rest. An
 * organization that is alone is not limited.
 */
export function newLoopShare({
  loopTime = performance.eventLoopUtilization,
  now = performance.now.bind(performance),
  later = setImmediate,
}: LoopShareOptions = {}): LoopShare {
  const accounts = new Map<string, Account>()
  let measured = loopTime()
  let last = ''
  let changedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const isContended = () => now() - changedAt < COMPETE_WITHIN_MS

  /** The time since the last call, divided equally among the requests inside. */
  function settle(): void {
    const { idle, active } = loopTime()
    const [idleMs, activeMs] = [idle - measured.idle, active - measured.active]
    measured = { idle, active }
    let inside = 0
    for (const account of accounts.values()) inside += account.inside
    for (const [name, account] of accounts) {
      const used = inside > 0 ? (activeMs * account.inside) / inside : 0
      const earned = SHARE_OF_IDLE * idleMs + LEAST_SHARE * (idleMs + activeMs)
      account.credit = Math.max(-MOST_DEBT_MS, Math.min(MOST_CREDIT_MS, account.credit + earned - used))
      if (account.credit === MOST_CREDIT_MS && account.inside === 0 && account.waiting.size === 0) accounts.delete(name)
    }
  }

  function accountOf(organization: string): Account {
    const known = accounts.get(organization)
    if (known) return known
    const account: Account = { credit: MOST_CREDIT_MS, inside: 0, startedAt: 0, waiting: new Set() }
    accounts.set(organization, account)
    return account
  }

  function mayStart(account: Account): boolean {
    if (!isContended()) return true
    const { credit, inside, startedAt } = account
    if (credit <= 0 || inside >= MOST_INSIDE) return false
    return credit > MOST_CREDIT_MS / 2 || now() - startedAt > YIELD_MS || !isAnotherInside(account)
  }

  function isAnotherInside(account: Account): boolean {
    for (const one of accounts.values()) if (one !== account && one.inside > 0) return true
    return false
  }

  /** One at a time beside others: what arrived for them meanwhile comes between two. */
  function startWaiting(account: Account): void {
    for (const start of account.waiting) {
      if (!mayStart(account)) return
      account.waiting.delete(start)
      start()
      if (isContended()) return
    }
  }

  function tick(): void {
    settle()
    let isWaiting = false
    for (const account of accounts.values()) {
      startWaiting(account)
      isWaiting ||= account.waiting.size > 0
    }
    if (isWaiting) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    enter(organization, start) {
      if (organization !== last) {
        if (last !== '') changedAt = now()
        last = organization
      }
      settle()
      const account = accountOf(organization)
      let leave = () => {}
      const begin = () => {
        account.inside += 1
        account.startedAt = now()
        let isInside = true
        const end = () => {
          if (!isInside) return
          isInside = false
          settle()
          account.inside -= 1
          clearTimeout(waits)
          if (account.waiting.size > 0) later(() => startWaiting(account))
        }
        const waits = setTimeout(end, WAITS_AFTER_MS).unref()
        leave = end
        start()
      }
      if (account.waiting.size === 0 && mayStart(account)) begin()
      else {
        account.waiting.add(begin)
        timer ??= setInterval(tick, TICK_MS).unref()
        leave = () => void account.waiting.delete(begin)
      }
      return () => leave()
    },
    close: () => clearInterval(timer),
  }
}
