import type { WebSocket } from 'ws'
import { BOT, GUILD, type World } from './world.ts'

type SessionEvent = { op: 0; t: string; s: number; d: Record<string, unknown> }
type SimulatedSession = { id: string; events: SessionEvent[]; socket: WebSocket | undefined }
type Frame = { op: number; d?: unknown }

type SessionOptions = {
  token(): string | undefined
  resumeUrl(): string
  /** Whether the bot may read messages. */
  hasContent(): boolean
  /** Identifies without an answer. */
  isMute(): boolean
}

const HEARTBEAT_MS = 41_250

/** Discord's gateway: a session goes on when its socket is lost, and replays what it missed. */
export function newSessions(world: World, options: SessionOptions) {
  const sessions = new Map<string, SimulatedSession>()
  const sockets = new Set<WebSocket>()
  let next = 1

  const send = (socket: WebSocket, frame: object) => socket.send(JSON.stringify(frame))

  const stop = world.onDelivery((type, data) => {
    for (const session of sessions.values()) push(session, type, data)
  })

  function push(session: SimulatedSession, type: string, data: Record<string, unknown>): void {
    const event: SessionEvent = { op: 0, t: type, s: session.events.length + 1, d: data }
    session.events.push(event)
    if (session.socket) send(session.socket, event)
  }

  function connected(socket: WebSocket): void {
    let session: SimulatedSession | undefined
    sockets.add(socket)
    send(socket, { op: 10, d: { heartbeat_interval: HEARTBEAT_MS } })
    socket.on('error', () => {})
    socket.on('close', (code) => {
      sockets.delete(socket)
      if (session?.socket !== socket) return
      session.socket = undefined
      // A client that says goodbye ends its session.
      if (code === 1000 || code === 1001) sessions.delete(session.id)
      world.changed()
    })
    socket.on('message', (data) => {
      const { op, d } = JSON.parse(String(data)) as Frame
      if (op === 1) send(socket, { op: 11 })
      if (op === 2) session = identify(socket, d as { token?: string })
      if (op === 6) session = resume(socket, d as { token?: string; session_id?: string; seq?: number })
      world.changed()
    })
  }

  const isKnown = (token: string | undefined) => (options.token() ?? token) === token

  function identify(socket: WebSocket, { token }: { token?: string }): SimulatedSession | undefined {
    if (!isKnown(token)) return void socket.close(4004, 'Authentication failed.')
    if (!options.hasContent()) return void socket.close(4014, 'Disallowed intent(s).')
    if (options.isMute()) return undefined
    const session: SimulatedSession = { id: `session-${next++}`, events: [], socket }
    sessions.set(session.id, session)
    push(session, 'READY', {
      v: 10,
      user: BOT,
      session_id: session.id,
      resume_gateway_url: options.resumeUrl(),
      application: { id: BOT.id },
      guilds: [{ id: GUILD, unavailable: true }],
    })
    const inGuild = [...world.channels.values()].filter(({ guild_id }) => guild_id === GUILD)
    push(session, 'GUILD_CREATE', {
      id: GUILD,
      channels: inGuild.filter(({ parent_id }) => parent_id === undefined),
      threads: inGuild.filter(({ parent_id }) => parent_id !== undefined),
    })
    return session
  }

  function resume(
    socket: WebSocket,
    { token, session_id = '', seq = 0 }: { token?: string; session_id?: string; seq?: number },
  ): SimulatedSession | undefined {
    if (!isKnown(token)) return void socket.close(4004, 'Authentication failed.')
    const session = sessions.get(session_id)
    if (!session || seq > session.events.length) {
      send(socket, { op: 9, d: false })
      return undefined
    }
    session.socket?.terminate()
    session.socket = socket
    for (const event of session.events.slice(seq)) send(socket, event)
    push(session, 'RESUMED', {})
    return session
  }

  return {
    connected,
    stop,
    /** Sessions with a connection. */
    count: () => [...sessions.values()].filter(({ socket }) => socket).length,
    /** Discord forgets every session, and says so. */
    invalidate() {
      const open = [...sessions.values()].flatMap(({ socket }) => socket ?? [])
      sessions.clear()
      for (const socket of open) send(socket, { op: 9, d: false })
    },
    /** Discord forgets every session, and is not asked. */
    forget(): void {
      sessions.clear()
    },
    /** Asks every connection to connect again. */
    reconnect() {
      for (const { socket } of sessions.values()) if (socket) send(socket, { op: 7, d: null })
    },
    cut() {
      for (const socket of sockets) socket.terminate()
    },
  }
}
