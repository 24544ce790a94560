import { randomBytes } from 'node:crypto'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { defined } from '../../core/defined.ts'
import type { ConversationId } from '../../core/id.ts'
import type { OpenedPage, PageRequest } from '../../ports/workspaces.ts'
import { answerHeaders, CORS_HEADERS, PAGE_ORIGIN, protectiveHeaders, requestHeaders } from './page-headers.ts'

export type PageServer = {
  open(request: PageRequest): Promise<OpenedPage>
  close(conversationId: ConversationId, pageId: string): boolean
  closeAll(conversationId: ConversationId): void
  stop(): Promise<void>
}

type PageServerDeps = {
  connectTo(conversationId: ConversationId, port: number): Promise<Socket>
  now(): number
  egress: readonly string[]
}

/** `label` is the secret first part of the page's host name; `token` leads there once. */
type Page = PageRequest & {
  pageId: string
  label: string
  token: string | undefined
  expiresAt: number
  open: Set<Duplex>
  timer: NodeJS.Timeout
}

const MINUTE_MS = 60_000
const MAX_PAGES = 100
const MAX_CONNECTIONS_PER_PAGE = 64
const MAX_REQUEST_BYTES = 64 * 1024 * 1024
const MAX_ANSWER_BYTES = 512 * 1024 * 1024
const IDLE_MS = 300_000
const ADDRESS = '127.0.0.1'

/**
 * Serves ports of workspaces to browsers of this machine, on a port of its own. Each page has a secret host name below
 * `localhost`, which browsers resolve to this machine: so each has its own origin, and its absolute paths work without a
 * cookie, which a sandboxed page could not send.
 */
export function startPageServer({ connectTo, now, egress }: PageServerDeps): PageServer {
  const pages = new Map<string, Page>()
  const server = createServer((request, response) => void answer(request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => void upgrade(request, socket, head))
  server.maxConnections = MAX_PAGES * MAX_CONNECTIONS_PER_PAGE
  const listening = new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, ADDRESS, () => resolve((server.address() as { port: number }).port))
  })
  server.unref()

  const hostOf = async ({ label }: Page): Promise<string> => `${label}.localhost:${await listening}`

  async function pageFor(host: string | undefined): Promise<Page | undefined> {
    for (const page of pages.values()) if (host === (await hostOf(page))) return page
    return undefined
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = await pageFor(request.headers.host)
    const host = request.headers.host ?? ''
    for (const [name, value] of Object.entries(protectiveHeaders(page ? host : ADDRESS, page ? egress : [])))
      response.setHeader(name, value)
    if (!page) return enter(request, response)
    const { origin } = request.headers
    if (origin !== undefined && origin !== PAGE_ORIGIN)
      return refuse(response, 403, 'Other pages may not read this one.')
    if (origin === PAGE_ORIGIN)
      for (const [name, value] of Object.entries(CORS_HEADERS)) response.setHeader(name, value)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (Number(request.headers['content-length'] ?? 0) > MAX_REQUEST_BYTES) return refuse(response, 413, 'Too large.')
    await forward(page, { request, response })
  }

  /** The address that `open` returned: valid once. */
  async function enter({ method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const port = await listening
    const isEntry = headers.host === `${ADDRESS}:${port}` && method === 'GET'
    const token = /^\/open\/([0-9a-f]{32})$/.exec(url ?? '')?.[1]
    const page = isEntry && token !== undefined ? [...pages.values()].find((one) => one.token === token) : undefined
    if (!page)
      return refuse(
        response,
        404,
        'This address was used already, or has expired. Run `holdfast workspaces open` again.',
      )
    page.token = undefined
    response.writeHead(303, { location: `http://${await hostOf(page)}/` }).end()
  }

  async function forward(
    page: Page,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const inside = await connect(page)
    if (!inside) return refuse(response, 502, `Nothing answers on port ${page.port} of the workspace.`)
    const upstream = httpRequest({
      method: request.method,
      path: request.url,
      headers: requestHeaders(request.headers, page.port),
      createConnection: () => inside,
    })
    let sent = 0
    request.on('data', (chunk: Buffer) => {
      sent += chunk.length
      if (sent > MAX_REQUEST_BYTES) request.destroy()
    })
    upstream.on('error', () => {
      if (response.headersSent) response.destroy()
      else refuse(response, 502, 'The page did not answer.')
    })
    upstream.on('response', (found) => {
      const location = localPath(found.headers.location, page.port)
      if (found.headers.location !== undefined && location === undefined)
        return refuse(response, 502, 'The page leads to another address, which is not followed.')
      response.writeHead(found.statusCode ?? 502, {
        ...answerHeaders(found.headers),
        ...defined({ location }),
      })
      let received = 0
      found.on('data', (chunk: Buffer) => {
        received += chunk.length
        if (received > MAX_ANSWER_BYTES) response.destroy()
      })
      found.on('error', () => response.destroy())
      found.pipe(response)
    })
    response.on('close', () => inside.destroy())
    request.pipe(upstream)
  }

  /** WebSockets. */
  async function upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    const page = await pageFor(request.headers.host)
    const isOwn = request.headers.origin === PAGE_ORIGIN
    const inside = page && isOwn ? await connect(page) : undefined
    if (!page || !inside) return void socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n')
    const headers = { ...requestHeaders(request.headers, page.port), connection: 'Upgrade', upgrade: 'websocket' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    inside.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    if (head.length > 0) inside.write(head)
    page.open.add(socket)
    socket.on('close', () => {
      page.open.delete(socket)
      inside.destroy()
    })
    inside.on('close', () => socket.destroy())
    relayUpgrade(inside, socket)
  }

  async function connect(page: Page): Promise<Socket | undefined> {
    if (page.open.size >= MAX_CONNECTIONS_PER_PAGE || page.expiresAt <= now()) return undefined
    const inside = await connectTo(page.conversationId, page.port).catch(() => undefined)
    if (!inside) return undefined
    inside.setTimeout(IDLE_MS, () => inside.destroy())
    inside.on('error', () => inside.destroy())
    page.open.add(inside)
    inside.on('close', () => page.open.delete(inside))
    return inside
  }

  function closePage(page: Page): void {
    clearTimeout(page.timer)
    pages.delete(page.pageId)
    for (const one of page.open) one.destroy()
  }

  return {
    async open(request) {
      const port = await listening
      const pageId = `page-${randomBytes(8).toString('hex')}`
      const token = randomBytes(16).toString('hex')
      const lifetimeMs = request.minutes * MINUTE_MS
      const oldest = [...pages.values()][0]
      if (oldest && pages.size >= MAX_PAGES) closePage(oldest)
      const page: Page = {
        ...request,
        pageId,
        token,
        label: randomBytes(16).toString('hex'),
        expiresAt: now() + lifetimeMs,
        open: new Set(),
        timer: setTimeout(() => closePage(page), lifetimeMs).unref(),
      }
      pages.set(pageId, page)
      const url = `http://${ADDRESS}:${port}/open/${token}`
      return { pageId, url, port: request.port, expiresAt: page.expiresAt }
    },
    close(conversationId, pageId) {
      const page = pages.get(pageId)
      if (page?.conversationId !== conversationId) return false
      closePage(page)
      return true
    },
    closeAll(conversationId) {
      for (const page of [...pages.values()]) if (page.conversationId === conversationId) closePage(page)
    },
    async stop() {
      for (const page of [...pages.values()]) closePage(page)
      server.closeAllConnections()
      server.close()
    },
  }
}

const MAX_HANDSHAKE_BYTES = 16 * 1024
/** Header lines of a handshake that reach the browser. */
const HANDSHAKE_LINE = /^(upgrade|connection|sec-websocket-[a-z-]+):/i

/** Passes the answer to a handshake on without other headers (a cookie, say), then the bytes of both sides. */
function relayUpgrade(inside: Socket, outside: Socket): void {
  let held = Buffer.alloc(0)
  inside.on('data', function read(chunk: Buffer) {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end < 0 && held.length <= MAX_HANDSHAKE_BYTES) return
    inside.off('data', read)
    const [status = '', ...lines] = held.toString('latin1', 0, Math.max(0, end)).split('\r\n')
    if (!/^HTTP\/1\.1 101 /.test(status))
      return void outside.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n')
    const kept = lines.filter((line) => HANDSHAKE_LINE.test(line))
    outside.write(`HTTP/1.1 101 Switching Protocols\r\n${kept.join('\r\n')}\r\n\r\n`)
    outside.write(held.subarray(end + 4))
    inside.pipe(outside).pipe(inside)
  })
}

/** The path of a redirect within the page's own server; undefined if it leads elsewhere. */
function localPath(location: string | undefined, port: number): string | undefined {
  const own = `http://localhost:${port}`
  if (location === undefined || !URL.canParse(location, own)) return undefined
  const { origin, pathname, search, hash } = new URL(location, own)
  const isOwn = [own, `http://127.0.0.1:${port}`].some((one) => new URL(one).origin === origin)
  // Two slashes at the start would name a host.
  return isOwn ? `${pathname.replace(/^\/+/, '/')}${search}${hash}` : undefined
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${sentence}\n`)
}
