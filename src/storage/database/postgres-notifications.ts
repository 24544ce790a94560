import pg, { type Client } from 'pg'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { clientConfig } from './postgres-connection.ts'

/** One channel for all writes: a notification carries no data. */
export const CHANNEL = 'holdfast'

const RECONNECT_MS = 1_000

type PostgresNotifications = { listen: Store['onForeignWrite']; close(): Promise<void> }

type NotificationOptions = {
  url: string
  clock: Clock
  /** Whether this PostgreSQL backend serves this process's own writes. */
  isOwnBackend(processId: number): boolean
}

/**
 * Listens for commits of other processes. Notifications are missed while the connection is down, so reconnecting counts
 * as one.
 */
export function newPostgresNotifications({ url, clock, isOwnBackend }: NotificationOptions): PostgresNotifications {
  const listeners = new Set<() => void>()
  let listening: { stopping: AbortController; done: Promise<void> } | undefined

  const notify = () => {
    for (const listener of [...listeners]) listener()
  }

  async function listenUntilStopped(stopping: AbortController): Promise<void> {
    while (!stopping.signal.aborted) {
      await listenOnce({ url, signal: stopping.signal, notify, isOwnBackend })
      await clock.sleep(RECONNECT_MS, stopping.signal)
    }
  }

  async function stop(): Promise<void> {
    const ending = listening
    listening = undefined
    ending?.stopping.abort()
    await ending?.done
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (!listening) {
        const stopping = new AbortController()
        listening = { stopping, done: listenUntilStopped(stopping) }
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) void stop()
      }
    },
    close: stop,
  }
}

type ListenOnceOptions = Omit<NotificationOptions, 'clock'> & { signal: AbortSignal; notify(): void }

/** Resolves when the connection is lost or the signal aborts. Never rejects. */
async function listenOnce({ url, signal, notify, isOwnBackend }: ListenOnceOptions): Promise<void> {
  const client = new pg.Client(clientConfig(url))
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve())
    client.on('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    await client.connect()
    client.on('notification', ({ processId }) => {
      if (!isOwnBackend(processId)) notify()
    })
    await client.query(`listen ${CHANNEL}`)
    notify()
    await lost
  } catch {
    // The server is unreachable; the caller reconnects.
  }
  await endQuietly(client)
}

async function endQuietly(client: Client): Promise<void> {
  try {
    await client.end()
  } catch {
    // Already closed.
  }
}
