import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A loopback port that can be closed and opened again. */
type Listening = {
  readonly port: number
  /** Connections are reset and new ones refused until `comeBack`. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

/** A request for a WebSocket. */
type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export async function listen(port: number, answer: RequestListener, upgrade?: UpgradeListener): Promise<Listening> {
  const sockets = new Set<Socket>()
  const open = async (at: number): Promise<Server> => {
    // No timeouts: the script may keep a connection silent for any time.
    const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 60_000 }, answer)
    if (upgrade) server.on('upgrade', upgrade)
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      // A reset by the client is recorded; it is not an error of the simulator.
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
    return server
  }
  let server: Server | undefined = await open(port)
  const actualPort = (server.address() as AddressInfo).port
  return {
    port: actualPort,
    async goDown() {
      const closing = server
      server = undefined
      if (!closing) return
      await new Promise<void>((resolve) => {
        closing.close(() => resolve())
        for (const socket of sockets) sever(socket, 'reset')
      })
    },
    async comeBack() {
      server ??= await open(actualPort)
    },
  }
}

const severed = new WeakSet<Socket>()

/** Closes a connection from this side and marks it, so that the recorder does not blame the client. */
export function sever(socket: Socket, how: 'reset' | 'cut'): void {
  severed.add(socket)
  if (how === 'reset') socket.resetAndDestroy()
  else socket.destroySoon()
}

export const wasSevered = (socket: Socket): boolean => severed.has(socket)
