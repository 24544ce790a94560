import pg, { type Client } from 'pg'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { clientConfig } from './postgres-connection.ts'

/** One channel for everything: a nudge says that something happened, never what. */
export const CHANNEL = 'holdfast'

const RECONNECT_MS = 1_000

type Nudges = { listen: Store['onForeignWrite']; close(): Promise<void> }

type NudgeOptions = { url: string; clock: Clock; isOurs(processId: number): boolean }

/** Hears of other processes' commits. While the connection is away nudges are missed, so its return is one. */
export function postgresNudges({ url, clock, isOurs }: NudgeOptions): Nudges {
  const listeners = new Set<() => void>()
  let hearing: { over: AbortController; done: Promise<void> } | undefined

  const tell = () => {
    for (const listener of [...listeners]) listener()
  }

  async function hear(over: AbortController): Promise<void> {
    while (!over.signal.aborted) {
      await hearOnce({ url, signal: over.signal, tell, isOurs })
      await clock.sleep(RECONNECT_MS, over.signal)
    }
  }

  async function stop(): Promise<void> {
    const ending = hearing
    hearing = undefined
    ending?.over.abort()
    await ending?.done
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (!hearing) {
        const over = new AbortController()
        hearing = { over, done: hear(over) }
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) void stop()
      }
    },
    close: stop,
  }
}

type Hearing = { url: string; signal: AbortSignal; tell(): void; isOurs(processId: number): boolean }

/** Returns when the connection is lost or nobody listens any more. Never rejects. */
async function hearOnce({ url, signal, tell, isOurs }: Hearing): Promise<void> {
  const client = new pg.Client(clientConfig(url))
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve())
    client.on('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    await client.connect()
    client.on('notification', ({ processId }) => {
      if (!isOurs(processId)) tell()
    })
    await client.query(`listen ${CHANNEL}`)
    tell()
    await lost
  } catch {
    // The server is away; the caller tries again.
  }
  await endQuietly(client)
}

async function endQuietly(client: Client): Promise<void> {
  try {
    await client.end()
  } catch {
    // It was gone already.
  }
}
