import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { addressGroup } from './address-group.ts'
import { operationOf } from './register.ts'

type Connection = {
  socket: Socket
  /** The address until a request with a valid key arrives, then the key. */
  group: string
  hasKey: boolean
  isHome: boolean
  openRequests: number
  /** At the last sweep. A request that is arriving has its own time limits. */
  bytesRead: number
  usedAt: number
}

/** Connections that have shown no key are closed after this long without a request. */
const KEYLESS_IDLE_MS = 5_000
const SWEEP_MS = 1_000

/**
 * Shares the connections of a server. At the limit, a new connection takes the place of one without a key: of the
 * address that has most of them, the one that has been idle longest. If all have keys, it takes the place of an idle one
 * of the key that has most. A connection of the home's own key is never closed for another.
 */
export function shareConnections(server: FastifyInstance, most: number): { close(): void } {
  const groups = new Map<string, Set<Connection>>()
  const bySocket = new WeakMap<Socket, Connection>()
  let count = 0

  function join(connection: Connection, group: string): void {
    connection.group = group
    const members = groups.get(group) ?? new Set()
    groups.set(group, members.add(connection))
  }

  function leave(connection: Connection): void {
    const members = groups.get(connection.group)
    members?.delete(connection)
    if (members?.size === 0) groups.delete(connection.group)
  }

  /** Members of a group are in order of use. */
  function use(connection: Connection): void {
    connection.usedAt = Date.now()
    leave(connection)
    join(connection, connection.group)
  }

  function victim(): Connection | undefined {
    let found: (Group & { members: Set<Connection> }) | undefined
    for (const members of groups.values()) {
      const [first] = members
      const { hasKey, isHome } = first!
      if (isHome || (found && !isBetterVictim({ hasKey, size: members.size }, found))) continue
      found = { members, hasKey, size: members.size }
    }
    for (const one of found?.members ?? []) if (!one.hasKey || one.openRequests === 0) return one
    return undefined
  }

  function remove(connection: Connection): void {
    if (!bySocket.delete(connection.socket)) return
    leave(connection)
    count -= 1
    connection.socket.destroy()
  }

  const http = server.server as HttpServer
  http.on('connection', (socket: Socket) => {
    if (count >= most) {
      const evicted = victim()
      if (!evicted) {
        socket.destroy()
        return
      }
      remove(evicted)
    }
    const connection: Connection = {
      socket,
      group: '',
      hasKey: false,
      isHome: false,
      openRequests: 0,
      bytesRead: 0,
      usedAt: Date.now(),
    }
    bySocket.set(socket, connection)
    join(connection, `address ${addressGroup(socket.remoteAddress ?? '')}`)
    count += 1
    socket.once('close', () => remove(connection))
  })

  /** After admission: only requests that were let in arrive here. */
  server.addHook('onRequest', (request, reply, done) => {
    const connection = bySocket.get(request.raw.socket)
    if (connection) {
      connection.openRequests += 1
      reply.raw.once('close', () => {
        connection.openRequests -= 1
        if (!connection.socket.destroyed) use(connection)
      })
      const { caller } = request
      if (caller && operationOf(request)?.scope !== 'open') {
        leave(connection)
        connection.hasKey = true
        connection.isHome = caller.actor === 'home'
        join(connection, `key ${caller.actor}`)
      }
    }
    done()
  })

  const sweep = setInterval(() => {
    const before = Date.now() - KEYLESS_IDLE_MS
    for (const members of [...groups.values()])
      for (const one of [...members]) {
        if (one.hasKey) break
        if (one.socket.bytesRead !== one.bytesRead) noteBytes(one)
        else if (one.openRequests === 0 && one.usedAt < before) remove(one)
      }
  }, SWEEP_MS).unref()

  return { close: () => clearInterval(sweep) }
}

function noteBytes(connection: Connection): void {
  connection.bytesRead = connection.socket.bytesRead
  connection.usedAt = Date.now()
}

type Group = { hasKey: boolean; size: number }

/** Connections without a key before those with one; then the larger group. */
const isBetterVictim = (one: Group, other: Group): boolean =>
  one.hasKey === other.hasKey ? one.size > other.size : !one.hasKey
