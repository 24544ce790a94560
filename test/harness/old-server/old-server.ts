import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newOldRoutes, type OldVersion } from './old-routes.ts'
import type { OldObject, WorldSize } from './old-world.ts'

/** What goes wrong with a request: instead of its answer, or in the middle of it. */
export type OldFault =
  | { type: 'status'; status: number; body?: string; headers?: Record<string, string> }
  | { type: 'html' }
  /** The connection ends after half of the body. */
  | { type: 'drop' }
  /** The body never ends. */
  | { type: 'endless' }
  /** A byte from time to time: the connection is never silent, and the body never ends. */
  | { type: 'drip' }
  /** Half of the body is replaced by bytes that are not UTF-8, inside a text. */
  | { type: 'not-utf8' }

export type OldRequest = { path: string; query: URLSearchParams; count: number }

export type OldServerOptions = {
  version?: OldVersion
  size?: Partial<WorldSize>
  password?: string
  /** Decides about each request; `count` is how often this path was requested. */
  faultOf?(request: OldRequest): OldFault | undefined
  /** Cursors of these lists are ignored. */
  ignoresCursor?(path: string): boolean
  /** Stored messages that no list shows. */
  hides?(id: string): boolean
  /** Changes an object before it is sent. */
  edit?(object: OldObject): OldObject
}

export type OldServerFixture = {
  url: string
  size: WorldSize
  requests(): number
  /** The server grew since. */
  grow(more: Partial<WorldSize>): void
  close(): Promise<void>
}

const SIZE: WorldSize = { agents: 3, conversations: 1, messages: 45, passages: 5, tools: 4 }

/**
 * A stand-in of the retired server, built from what is known of its routes and their faults: descending pages overlap,
 * unknown cursors are ignored, limits are not enforced. Its content is computed, so that any size takes no memory.
 */
export async function startOldServer(options: OldServerOptions = {}): Promise<OldServerFixture> {
  const { version = '0.16.8', password, faultOf, edit = (object) => object } = options
  const size: WorldSize = { ...SIZE, ...options.size }
  const routes = newOldRoutes({ version, size, edit, hides: (id) => options.hides?.(id) ?? false })
  const counts = new Map<string, number>()
  let requests = 0

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, Buffer.concat(chunks).toString(), response))
  })

  function answer(request: IncomingMessage, body: string, response: ServerResponse): unknown {
    requests++
    const url = new URL(request.url ?? '/', 'http://old')
    const path = url.pathname
    const count = (counts.get(path) ?? 0) + 1
    counts.set(path, count)
    if (password && request.headers.authorization !== `Bearer ${password}` && !path.startsWith('/v1/health'))
      return send(response, 401, { detail: 'Unauthorized' })
    const fault = faultOf?.({ path, query: url.searchParams, count })
    if (fault?.type === 'status')
      return response.writeHead(fault.status, fault.headers).end(fault.body ?? '{"detail":"An unknown error occurred"}')
    if (fault?.type === 'html')
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Bad gateway</body></html>')
    if (fault?.type === 'endless') return endless(response)
    if (fault?.type === 'drip') return drip(response)
    if (options.ignoresCursor?.(path)) url.searchParams.delete('after')
    const { status, value } = routes(request.method ?? 'GET', url, body)
    if (!fault) return send(response, status, value)
    const bytes = Buffer.from(JSON.stringify(value))
    if (fault.type === 'not-utf8') {
      const at = bytes.indexOf('Answer')
      if (at >= 0) bytes[at] = 0xff
      return response.writeHead(status, { 'content-type': 'application/json' }).end(bytes)
    }
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
    return response.write(bytes.subarray(0, bytes.length / 2), () => response.socket?.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    size,
    requests: () => requests,
    grow: (more) => void Object.assign(size, more),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('[')
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

const PIECE = `{"id":"message-x","content":"${'x'.repeat(1_000_000)}"},`

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('[')
  const more = () => {
    while (!response.destroyed && response.write(PIECE));
    if (!response.destroyed) response.once('drain', more)
  }
  more()
}
