import { readdirSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { SupervisorConfig } from '../protocol.ts'

/**
 * Relays connections from the port inside the sandbox to the egress proxy of any server that runs. `open` may be called
 * more than once.
 */
export function newEgressRelay(egress: SupervisorConfig['egress']): { open(): Promise<void> } {
  let opened: Promise<void> | undefined
  return {
    open() {
      if (!egress) return Promise.resolve()
      const { folder, port } = egress
      const server = createServer({ allowHalfOpen: true }, (inside) => void relay(inside, folder))
      opened ??= new Promise((resolve) => {
        // Another program of the workspace may have taken the port: then there is no way out.
        server.once('error', () => resolve())
        server.listen(port, '127.0.0.1', resolve)
      })
      return opened
    },
  }
}

async function relay(inside: Socket, folder: string): Promise<void> {
  inside.on('error', () => inside.destroy())
  for (const name of readdirSync(folder)) {
    const outside = await tryConnect(join(folder, name))
    if (!outside) continue
    outside.on('error', () => inside.destroy())
    outside.on('close', () => inside.destroy())
    inside.on('close', () => outside.destroy())
    inside.pipe(outside).pipe(inside)
    return
  }
  inside.end(
    'HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\n\r\nNo egress proxy is available: no Holdfast server is running.\n',
  )
}

function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ path, allowHalfOpen: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
