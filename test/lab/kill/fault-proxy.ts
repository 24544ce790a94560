import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * `through` forwards at once, `delay` later, `slow` a few bytes at a time. `half-open` drops the data of both sides
 * while both consider the connection open.
 */
export type ProxyMode = 'through' | 'delay' | 'slow' | 'half-open'

export type FaultProxy = {
  url: string
  set(mode: ProxyMode): void
  /** Cuts every open connection. New ones are accepted. */
  cut(): void
  close(): Promise<void>
}

const DELAY_MS = 40
/** About 100 KB a second, also on a machine whose timers are late. */
const SLOW_BYTES_PER_MS = 100
const SLOW_MS = 5

/** A TCP proxy between a process and its server that injects connection faults on demand. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let mode: ProxyMode = 'through'

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const hangUp = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', hangUp)
      from.on('close', () => {
        sockets.delete(from)
        hangUp()
      })
      from.on('data', carry(from, to))
    }
  })

  /** Keeps the order of the data when the mode changes. */
  function carry(from: Socket, to: Socket) {
    let before: Promise<void> = Promise.resolve()
    return (data: Buffer) => {
      // A connection that lost bytes never forwards again.
      if (mode === 'half-open') from.removeAllListeners('data').resume()
      else {
        const now = mode
        before = before.then(() => DELIVERY[now](data, to))
      }
    }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    set(next) {
      mode = next
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const DELIVERY: Record<Exclude<ProxyMode, 'half-open'>, (data: Buffer, to: Socket) => Promise<void>> = {
  async through(data, to) {
    to.write(data)
  },
  async delay(data, to) {
    await pause(DELAY_MS)
    to.write(data)
  },
  async slow(data, to) {
    const began = performance.now()
    for (let start = 0; start < data.length; ) {
      const end = Math.ceil((performance.now() - began + SLOW_MS) * SLOW_BYTES_PER_MS)
      to.write(data.subarray(start, end))
      start = end
      await pause(SLOW_MS)
    }
  },
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
