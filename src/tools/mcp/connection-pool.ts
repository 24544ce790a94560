import { type McpConnection, type McpEndpoint, openMcpConnection } from './connection.ts'

/** As long as an answer of a model takes, and some more: the calls of a turn find the session they left. */
const KEPT_MS = 60_000

export type PooledConnection = { connection: McpConnection; isReused: boolean; release(how: 'keep' | 'close'): void }

export type McpConnectionPool = {
  /** Nobody else has it until it is given back. `fresh` passes over those that are kept. */
  acquire(place: PoolTarget, options: { signal: AbortSignal; fresh: boolean }): Promise<PooledConnection>
  /** Those of which the key begins with this. */
  drop(prefix: string): void
  close(): Promise<void>
}

/** Connections are shared only one after the other, and only under the same key. */
type PoolTarget = { key: string; endpoint: McpEndpoint }

export function newMcpConnectionPool(keptMs = KEPT_MS): McpConnectionPool {
  const idle = new Map<string, Set<{ connection: McpConnection; timer: NodeJS.Timeout }>>()
  const busy = new Map<McpConnection, string>()
  const closing = new Set<Promise<void>>()
  let isClosed = false

  const end = (connection: McpConnection) => {
    const closed = connection.close()
    closing.add(closed)
    void closed.finally(() => closing.delete(closed))
  }
  const idleOf = (key: string) => {
    const known = idle.get(key) ?? new Set()
    idle.set(key, known)
    return known
  }
  const retire = (key: string) => {
    for (const { connection, timer } of idle.get(key) ?? []) {
      clearTimeout(timer)
      end(connection)
    }
    idle.delete(key)
  }
  const keep = (key: string, connection: McpConnection) => {
    const entry = { connection, timer: setTimeout(lapse, keptMs).unref() }
    idleOf(key).add(entry)
    function lapse() {
      const all = idleOf(key)
      all.delete(entry)
      if (all.size === 0) idle.delete(key)
      end(connection)
    }
  }
  const handOut = (key: string, connection: McpConnection, isKept: boolean): PooledConnection => {
    busy.set(connection, key)
    return {
      connection,
      isReused: isKept,
      release(how) {
        // Whoever was dropped while in use is no longer known here.
        const isKnown = busy.delete(connection)
        if (how === 'keep' && isKnown && connection.isOpen && !isClosed) keep(key, connection)
        else end(connection)
      },
    }
  }

  return {
    async acquire({ key, endpoint }, { signal, fresh }) {
      if (fresh) retire(key)
      for (const entry of idle.get(key) ?? []) {
        idle.get(key)!.delete(entry)
        clearTimeout(entry.timer)
        if (entry.connection.isOpen) return handOut(key, entry.connection, true)
        end(entry.connection)
      }
      if (isClosed) throw new Error('This process is stopping.')
      return handOut(key, await openMcpConnection(endpoint, signal), false)
    },
    drop(prefix) {
      for (const key of [...idle.keys()]) if (key.startsWith(prefix)) retire(key)
      for (const [connection, key] of busy) if (key.startsWith(prefix)) busy.delete(connection)
    },
    async close() {
      isClosed = true
      for (const key of [...idle.keys()]) retire(key)
      for (const connection of busy.keys()) end(connection)
      await Promise.all(closing)
    },
  }
}
