import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * `through` passes everything on at once, `delay` later, `slow` a few bytes at a time. `half-open` swallows what either
 * side says while both believe the line is fine.
 */
export type ProxyMode = 'through' | 'delay' | 'slow' | 'half-open'

export type FaultProxy = {
  url: string
  set(weather: ProxyMode): void
  /** Cuts every line that is open now. New ones are taken. */
  cut(): void
  close(): Promise<void>
}

const DELAY_MS = 40
const SLOW_BYTES = 512
const SLOW_MS = 5

/** Stands between a process and its server and spoils the line on demand. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let weather: ProxyMode = 'through'

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

  /** In order, whatever the weather was when a piece came in. */
  function carry(from: Socket, to: Socket) {
    let before: Promise<void> = Promise.resolve()
    return (data: Buffer) => {
      // What was swallowed is gone: a line that lost bytes never passes bytes again.
      if (weather === 'half-open') from.removeAllListeners('data').resume()
      else {
        const now = weather
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
      weather = next
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
    for (let start = 0; start < data.length; start += SLOW_BYTES) {
      to.write(data.subarray(start, start + SLOW_BYTES))
      await pause(SLOW_MS)
    }
  },
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
