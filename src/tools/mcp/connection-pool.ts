import { type McpConnection, type McpEndpoint, openMcpConnection } from './connection.ts'

/** Longer than a model's answer, so that the calls of one turn share a session. */
const IDLE_MS = 60_000

export type PooledConnection = { connection: McpConnection; isReused: boolean; release(how: 'keep' | 'close'): void }

export type McpConnectionPool = {
  /** Exclusive until released. `fresh` closes idle connections of the key and opens a new one. */
  acquire(target: PoolTarget, options: { signal: AbortSignal; fresh: boolean }): Promise<PooledConnection>
  /** Closes the connections whose key begins with `prefix`; busy ones when they are released. */
  drop(prefix: string): void
  close(): Promise<void>
}

/** A connection is reused only for the same key, and by one call at a time. */
type PoolTarget = { key: string; endpoint: McpEndpoint }

export function newMcpConnectionPool(idleMs = IDLE_MS): McpConnectionPool {
  const idle = new Map<string, Set<{ connection: McpConnection; timer: NodeJS.Timeout }>>()
  const busy = new Map<McpConnection, string>()
  const closing = new Set<Promise<void>>()
  let isClosed = false

  const closeConnection = (connection: McpConnection) => {
    const closed = connection.close()
    closing.add(closed)
    void closed.finally(() => closing.delete(closed))
  }
  const idleOf = (key: string) => {
    const known = idle.get(key) ?? new Set()
    idle.set(key, known)
    return known
  }
  const closeIdle = (key: string) => {
    for (const { connection, timer } of idle.get(key) ?? []) {
      clearTimeout(timer)
      closeConnection(connection)
    }
    idle.delete(key)
  }
  const keep = (key: string, connection: McpConnection) => {
    const entry = { connection, timer: setTimeout(expire, idleMs).unref() }
    idleOf(key).add(entry)
    function expire() {
      const all = idleOf(key)
      all.delete(entry)
      if (all.size === 0) idle.delete(key)
      closeConnection(connection)
    }
  }
  const handOut = (key: string, connection: McpConnection, isKept: boolean): PooledConnection => {
    busy.set(connection, key)
    return {
      connection,
      isReused: isKept,
      release(how) {
        // A connection that was dropped while busy is not in the map any more.
        const isKnown = busy.delete(connection)
        if (how === 'keep' && isKnown && connection.isOpen && !isClosed) keep(key, connection)
        else closeConnection(connection)
      },
    }
  }

  return {
    async acquire({ key, endpoint }, { signal, fresh }) {
      if (fresh) closeIdle(key)
      for (const entry of idle.get(key) ?? []) {
        idle.get(key)!.delete(entry)
        clearTimeout(entry.timer)
        if (entry.connection.isOpen) return handOut(key, entry.connection, true)
        closeConnection(entry.connection)
      }
      if (isClosed) throw new Error('The server is shutting down.')
      return handOut(key, await openMcpConnection(endpoint, signal), false)
    },
    drop(prefix) {
      for (const key of [...idle.keys()]) if (key.startsWith(prefix)) closeIdle(key)
      for (const [connection, key] of busy) if (key.startsWith(prefix)) busy.delete(connection)
    },
    async close() {
      isClosed = true
      for (const key of [...idle.keys()]) closeIdle(key)
      for (const connection of busy.keys()) closeConnection(connection)
      await Promise.all(closing)
    },
  }
}
