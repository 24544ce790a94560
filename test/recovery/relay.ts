import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A TCP relay between a client and a local server that records the connection of each request. */
export type Relay = {
  url: string
  /** The connection of each request in order of arrival, counted from 1. */
  carriedBy: number[]
  /** How many connections the client has open. */
  open(): number
  untilOpen(count: number): Promise<void>
}

export async function relayTo(port: number, context: TestContext): Promise<Relay> {
  const carriedBy: number[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let opened = 0
  const server = createServer((client) => {
    const number = ++connections
    opened++
    const upstream = connect(port, '127.0.0.1')
    client.on('data', (piece) => {
      if (piece.subarray(0, 5).toString() === 'POST ') carriedBy.push(number)
      upstream.write(piece)
    })
    upstream.pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // Either side may disconnect at any time; that is what the tests do.
      socket.on('error', () => {})
    }
    upstream.on('close', () => client.destroy())
    client.on('close', () => {
      opened--
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    carriedBy,
    open: () => opened,
    async untilOpen(count) {
      for (let looks = 0; opened !== count; looks++) {
        assert.ok(looks < 500, `${opened} connections are open, not ${count}`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
  }
}
