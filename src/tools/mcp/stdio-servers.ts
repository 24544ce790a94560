import type { McpServerId } from '../../core/id.ts'
import type { McpSecrets, McpServer, McpStdioTransport } from '../../core/mcp-server.ts'
import type { Clock } from '../../ports/clock.ts'
import type { StdioPrograms } from '../../ports/stdio-programs.ts'
import { errorDetail } from './call-fault.ts'
import { orAborted } from './connection.ts'
import type { PooledConnection } from './connection-pool.ts'
import { openStdioConnection, type StdioConnection } from './stdio-connection.ts'

/** Pauses before the next start of a program that ended by itself. */
const BACKOFF_MS = [0, 1_000, 2_000, 5_000, 15_000, 60_000]
/** A program that ran this long was healthy. */
const HEALTHY_MS = 300_000
const IDLE_MS = 300_000

export type StdioServer = McpServer & { transport: McpStdioTransport }

type Running = { revision: number; opened: Promise<StdioConnection>; users: number; idle?: NodeJS.Timeout }

type Failures = { count: number; until: number; why: string }

type StdioServers = {
  /** Of the program of this server, which all conversations share; starts it if it does not run. */
  acquire(server: StdioServer, secrets: McpSecrets, signal: AbortSignal): Promise<PooledConnection>
  /** Stops its program; the next call starts it again. */
  drop(id: McpServerId): Promise<void>
  close(): Promise<void>
}

type StdioServersDeps = { programs: StdioPrograms; clock: Pick<Clock, 'now'>; connectMs: number; idleMs?: number }

/** The programs of stdio servers: started with the first call, restarted with backoff, stopped when idle. */
export function newStdioServers({ programs, clock, connectMs, idleMs = IDLE_MS }: StdioServersDeps): StdioServers {
  const running = new Map<McpServerId, Running>()
  const failures = new Map<McpServerId, Failures>()
  const stopping = new Set<Promise<unknown>>()
  let isClosed = false

  async function drop(id: McpServerId): Promise<void> {
    const one = running.get(id)
    if (!one) return
    running.delete(id)
    clearTimeout(one.idle)
    const stopped = one.opened.then(
      (connection) => connection.close(),
      () => undefined,
    )
    stopping.add(stopped)
    await stopped.finally(() => stopping.delete(stopped))
  }

  function noteFailure(id: McpServerId, startedAt: number, why: string): void {
    const now = clock.now()
    const count = now - startedAt > HEALTHY_MS ? 1 : (failures.get(id)?.count ?? 0) + 1
    const pause = BACKOFF_MS[Math.min(count - 1, BACKOFF_MS.length - 1)]!
    failures.set(id, { count, until: now + pause, why })
  }

  function start(server: StdioServer, secrets: McpSecrets): Running {
    const { id, revision, transport } = server
    const { command, args, egress = [] } = transport
    const startedAt = clock.now()
    const request = { id, command, args, environment: secrets.env ?? {}, egress }
    // Not the signal of the first caller: others wait for the same start.
    const late = AbortSignal.timeout(connectMs)
    const opened = openStdioConnection((events) => programs.start(request, events), late)
    const one: Running = { revision, opened, users: 0 }
    running.set(id, one)
    const isOver = (why: string) => {
      if (running.get(id) !== one) return
      running.delete(id)
      clearTimeout(one.idle)
      noteFailure(id, startedAt, why)
    }
    opened.then(
      ({ ended }) => ended.then(isOver),
      (error) => isOver(errorDetail(error)),
    )
    return one
  }

  function runningOf(server: StdioServer, secrets: McpSecrets): Running {
    const known = running.get(server.id)
    if (known && known.revision === server.revision) return known
    if (known) {
      void drop(server.id)
      failures.delete(server.id)
    }
    const { until = 0, count = 0, why = '' } = failures.get(server.id) ?? {}
    const wait = until - clock.now()
    if (wait > 0)
      throw new Error(`it ended ${count} times, last because ${why}; it starts again in ${Math.ceil(wait / 1000)} s`)
    return start(server, secrets)
  }

  return {
    drop(id) {
      failures.delete(id)
      return drop(id)
    },
    async acquire(server, secrets, signal) {
      if (isClosed) throw new Error('The server is shutting down.')
      const isReused = running.get(server.id)?.revision === server.revision
      const one = runningOf(server, secrets)
      clearTimeout(one.idle)
      one.users++
      let isReleased = false
      const release = () => {
        if (isReleased) return
        isReleased = true
        one.users--
        if (one.users === 0 && running.get(server.id) === one)
          one.idle = setTimeout(() => running.get(server.id) === one && void drop(server.id), idleMs).unref()
      }
      try {
        return { connection: await orAborted(signal, one.opened), isReused, release }
      } catch (error) {
        release()
        throw error
      }
    },
    async close() {
      isClosed = true
      for (const id of [...running.keys()]) void drop(id)
      await Promise.all(stopping)
      await programs.close()
    },
  }
}
