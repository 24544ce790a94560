import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A port on loopback that can be closed for a while and opened again. */
type Listening = {
  readonly port: number
  /** Connections are reset and new ones refused until `comeBack`. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

export async function listen(port: number, answer: RequestListener): Promise<Listening> {
  const sockets = new Set<Socket>()
  const open = async (at: number): Promise<Server> => {
    // A simulated provider may be silent for as long as the script wants.
    const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 60_000 }, answer)
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      // A client that resets its connection is recorded, not a fault of ours.
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
  const given = (server.address() as AddressInfo).port
  return {
    port: given,
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
      server ??= await open(given)
    },
  }
}

const severed = new WeakSet<Socket>()

/** Ends a connection from this side, so that it is not taken for the client's doing. */
export function sever(socket: Socket, how: 'reset' | 'cut'): void {
  severed.add(socket)
  if (how === 'reset') socket.resetAndDestroy()
  else socket.destroySoon()
}

export const wasSevered = (socket: Socket): boolean => severed.has(socket)
