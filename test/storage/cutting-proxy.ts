import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** TCP proxy between a store and its server that cuts the connection at a commit. */
export type CuttingProxy = {
  url: string
  /** Cuts at the next commit: before the server receives it, or after it has responded. */
  cutAtNextCommit(when: 'before' | 'after'): void
  close(): Promise<void>
}

/** The simple query `commit` on the wire. */
const COMMIT = Buffer.from('commit\0')

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  let cut: 'before' | 'after' | undefined
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let cutsOnAnswer = false
    const hangUp = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', hangUp)
      socket.on('close', hangUp)
    }
    client.on('data', (data) => {
      if (cut && data.includes(COMMIT)) {
        const when = cut
        cut = undefined
        if (when === 'before') return hangUp()
        cutsOnAnswer = true
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (cutsOnAnswer) return hangUp()
      client.write(data)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cutAtNextCommit(when) {
      cut = when
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
