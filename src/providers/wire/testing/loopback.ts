import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export type LoopbackRequest = { path: string; headers: Record<string, string>; body: string; socket: Socket }

type Loopback = {
  url: string
  port: number
  requests: LoopbackRequest[]
  /** All connections since the start. */
  connections: Socket[]
}

/** A server that writes raw bytes, so that it can break off at any of them. It closes with the test. */
export async function openLoopback(
  context: Pick<TestContext, 'after'>,
  answer: (requests: LoopbackRequest) => void,
): Promise<Loopback> {
  const requests: LoopbackRequest[] = []
  const connections: Socket[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    readRequests(socket, (request) => {
      requests.push(request)
      answer(request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, port, requests, connections }
}

function readRequests(socket: Socket, onRequest: (request: LoopbackRequest) => void): void {
  let bytes: Buffer = Buffer.alloc(0)
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more as Buffer])
    const headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const [first, ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0)
    if (bytes.length < end) return
    const body = bytes.subarray(headEnd + 4, end).toString('utf8')
    bytes = bytes.subarray(end)
    onRequest({ path: first!.split(' ')[1]!, headers, body, socket })
  })
}

/** The head of a stream that ends with its connection, so that it can end at any byte. */
export const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'

export const CHUNKED_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nx-request-id: request-7\r\n\r\n'

export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

export const LAST_CHUNK = '0\r\n\r\n'

export function wholeResponse(status: string, contentType: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
