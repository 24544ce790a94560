import { type Change, type ChangePosition, isAfter } from '../core/change.ts'
import type { OrganizationId } from '../core/id.ts'
import type { ChangeFeed, FeedItem } from '../ports/change-feed.ts'
import type { ChangeStore } from '../ports/change-store.ts'
import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'

const TICK_MS = 100
const PAGE = 500
/** A subscriber that is this far behind fetches everything again: that is cheaper than reading the changes. */
const MAX_WAITING = 1_000

type Subscriber = {
  organizationId: OrganizationId
  /** Changes up to here were read by the subscriber itself. */
  from: ChangePosition
  waiting: Change[]
  isOverfull: boolean
  wake(): void
}

type FeedDeps = {
  changes: ChangeStore
  clock: Clock
  report(fault: unknown, where: string): void
}

/** One reader of the store for all subscribers of this process; it rests while there are none. */
export function newChangeFeed({ changes, clock, report }: FeedDeps): ChangeFeed {
  const subscribers = new Set<Subscriber>()
  let position: ChangePosition | undefined
  let stop: (() => void) | undefined
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    position ??= await changes.newest()
    for (;;) {
      const page = await changes.after(position, { limit: PAGE })
      if (page.type === 'gone') {
        position = await changes.newest()
        for (const subscriber of subscribers) overfill(subscriber)
        return
      }
      for (const change of page.changes) dispatch(change)
      position = page.changes.at(-1)?.position ?? position
      if (page.changes.length < PAGE) return
    }
  }

  function dispatch(change: Change): void {
    for (const subscriber of subscribers) {
      if (subscriber.organizationId !== change.organizationId || !isAfter(change.position, subscriber.from)) continue
      if (subscriber.waiting.length >= MAX_WAITING) overfill(subscriber)
      else subscriber.waiting.push(change)
      subscriber.wake()
    }
  }

  function overfill(subscriber: Subscriber): void {
    subscriber.waiting = []
    subscriber.isOverfull = true
    subscriber.wake()
  }

  function readOnce(): Promise<void> {
    reading ??= read()
      .catch((fault) => {
        if (!(fault instanceof StorageError) || !fault.isTransient) report(fault, 'reading the feed of changes')
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  function subscribe(subscriber: Subscriber): () => void {
    subscribers.add(subscriber)
    stop ??= clock.every(TICK_MS, () => void readOnce())
    return () => {
      subscribers.delete(subscriber)
      if (subscribers.size > 0) return
      stop?.()
      stop = undefined
      position = undefined
    }
  }

  return {
    async *watch({ organizationId, after, signal }) {
      let wake = () => {}
      const subscriber: Subscriber = {
        organizationId,
        from: after ?? { transaction: 0, number: 0 },
        waiting: [],
        isOverfull: false,
        wake: () => wake(),
      }
      const stopOnAbort = () => wake()
      signal.addEventListener('abort', stopOnAbort)
      // Subscribe before reading: a change that commits in between must not be missed.
      const unsubscribe = subscribe(subscriber)
      try {
        await readOnce()
        const start = after ?? (await changes.newest())
        yield* replay(subscriber, start)
        while (!signal.aborted) {
          const item = take(subscriber)
          if (item) yield item
          else
            await new Promise<void>((resolve) => {
              wake = resolve
              if (signal.aborted || subscriber.waiting.length > 0 || subscriber.isOverfull) resolve()
            })
        }
      } finally {
        unsubscribe()
        signal.removeEventListener('abort', stopOnAbort)
      }
    },
  }

  /** What the subscriber missed, and where it is then. */
  async function* replay(subscriber: Subscriber, start: ChangePosition): AsyncGenerator<FeedItem> {
    const { organizationId } = subscriber
    let from = start
    for (;;) {
      const page = await changes.after(from, { organizationId, limit: PAGE })
      if (page.type === 'gone') {
        from = await changes.newest()
        subscriber.from = from
        yield { type: 'reload', position: from }
        return
      }
      from = page.changes.at(-1)?.position ?? from
      // What is read here is not delivered again.
      subscriber.from = from
      subscriber.waiting = subscriber.waiting.filter(({ position: at }) => isAfter(at, from))
      if (page.changes.length > 0) yield { type: 'changes', changes: page.changes, position: from }
      if (page.changes.length < PAGE) break
    }
    yield { type: 'current', position: from }
  }

  function take(subscriber: Subscriber): FeedItem | undefined {
    if (subscriber.isOverfull) {
      subscriber.isOverfull = false
      subscriber.waiting = []
      return { type: 'reload', position: position ?? subscriber.from }
    }
    if (subscriber.waiting.length === 0) return undefined
    const taken = subscriber.waiting
    subscriber.waiting = []
    return { type: 'changes', changes: taken, position: taken.at(-1)!.position }
  }
}
