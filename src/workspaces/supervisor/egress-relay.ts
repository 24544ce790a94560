import { readdirSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** Relays connections from the port inside the sandbox to the egress proxy of any server that runs. */
export function startEgressRelay({ folder, port }: { folder: string; port: number }): void {
  const server = createServer({ allowHalfOpen: true }, (inside) => void relay(inside, folder))
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
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
