import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { isAllowedHost, parseDomain, parseHostPort, THIS_SERVER } from '../../core/egress-domain.ts'
import { connectTo, listenAt } from '../unix-socket.ts'
import { type GrantedEgress, passwordIn } from './egress-grant.ts'

type ProxyOptions = {
  /** Sandboxes see this folder; the socket of each server process is a file in it. */
  folder: string
  /** For commands, and for programs without a grant. */
  domains: readonly string[]
  grantIn?(password: string): GrantedEgress | undefined
  /** Where this server listens. */
  ownAddress?(): { host: string; port: number } | undefined
  isPublicAddress(address: string): boolean
  resolve?(host: string): Promise<{ address: string }[]>
  report(fault: unknown, where: string): void
}

export type RunningProxy = { close(): void }

const IDLE_TIMEOUT_MS = 300_000
/** Of all workspaces of one organization. */
const MAX_CONNECTIONS = 512
/** Hop-by-hop headers, which a proxy does not forward. */
const HOP_BY_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/**
 * The egress proxy of sandboxes: reaches only allowed domains. It resolves names itself and connects to the address it
 * checked.
 */
export async function newProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { folder, report } = options
  const domains = options.domains.map((text) => {
    const domain = parseDomain(text)
    if (!domain)
      throw new Error(
        `HOLDFAST_EGRESS: "${text}" is not a domain. Use a name such as example.com, *.example.com or example.com:8080.`,
      )
    return domain
  })
  const resolve = options.resolve ?? ((host: string) => lookup(host, { all: true }))

  /** The address to connect to, or the reason for the refusal. */
  async function authorize(
    target: { host: string; port: number } | undefined,
    authorization: string | undefined,
  ): Promise<{ address: string; port: number } | { no: string }> {
    if (!target) return { no: 'The requested address is not valid.' }
    const { host, port } = target
    const password = passwordIn(authorization)
    const grant = password === undefined ? undefined : options.grantIn?.(password)
    if (password !== undefined && !grant) return { no: 'The egress of this program is over. Call the tool again.' }
    if (grant?.mayReachServer && host === THIS_SERVER) {
      const own = options.ownAddress?.()
      return own ? { address: own.host, port: own.port } : { no: 'No server of Holdfast listens here.' }
    }
    if (!isAllowedHost(grant?.domains ?? domains, host, port))
      return {
        no: grant
          ? `${host}:${port} is not allowed. It is not in the egress list of this tool or its agent.`
          : `${host}:${port} is not allowed. The operator can add it to HOLDFAST_EGRESS.`,
      }
    const found = await resolve(host).catch(() => [])
    const [first] = found
    if (!first) return { no: `The name ${host} could not be resolved.` }
    if (!found.every(({ address }) => options.isPublicAddress(address)))
      return { no: `${host} resolves to an address that is not on the public internet.` }
    return { address: first.address, port }
  }

  const server = createServer((request, response) => {
    void forward(request, response).catch((fault) => {
      report(fault, 'running the egress proxy of workspaces')
      response.destroy()
    })
  })
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void tunnel(request, socket, head).catch((fault) => {
      report(fault, 'running the egress proxy of workspaces')
      socket.destroy()
    })
  })
  server.maxConnections = MAX_CONNECTIONS

  async function tunnel(request: IncomingMessage, inside: Socket, head: Buffer): Promise<void> {
    inside.on('error', () => inside.destroy())
    const target = parseHostPort(request.url ?? '')
    const verdict = await authorize(target, request.headers['proxy-authorization'])
    if ('no' in verdict)
      return void inside.end(`HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\n\r\n${verdict.no}\n`)
    if (target?.host === THIS_SERVER) return answerInTunnel(inside, head)
    const outside = connectSocket({ host: verdict.address, port: verdict.port })
    outside.once('connect', () => {
      inside.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) outside.write(head)
      inside.pipe(outside).pipe(inside)
    })
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      one.setTimeout(IDLE_TIMEOUT_MS, () => one.destroy())
      one.on('error', () => one.destroy())
      one.on('close', () => other.destroy())
    }
  }

  /** The server accepts its own name only, so a tunnel to it ends here, where each request in it gets that name. */
  function answerInTunnel(inside: Socket, head: Buffer): void {
    inside.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) inside.unshift(head)
    ownRequests.emit('connection', inside)
  }

  const ownRequests = createServer((request, response) => {
    const own = options.ownAddress?.()
    if (!own) return void response.writeHead(502).end('No server of Holdfast listens here.\n')
    pass(request, response, {
      address: own.host,
      port: own.port,
      path: request.url ?? '/',
      host: `${own.host}:${own.port}`,
    })
  })

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.canParse(request.url ?? '') ? new URL(request.url!) : undefined
    const target =
      url?.protocol === 'http:'
        ? { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
        : undefined
    const verdict = await authorize(target, request.headers['proxy-authorization'])
    if (!url || 'no' in verdict)
      return void response
        .writeHead(403, { 'content-type': 'text/plain' })
        .end(`${'no' in verdict ? verdict.no : ''}\n`)
    const host = url.hostname === THIS_SERVER ? `${verdict.address}:${verdict.port}` : url.host
    pass(request, response, { ...verdict, path: `${url.pathname}${url.search}`, host })
  }

  function pass(
    request: IncomingMessage,
    response: ServerResponse,
    { address, port, path, host }: { address: string; port: number; path: string; host: string },
  ): void {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
    const upstream = httpRequest({
      host: address,
      port,
      method: request.method,
      path,
      headers: { ...headers, host },
      timeout: IDLE_TIMEOUT_MS,
      agent: false,
    })
    upstream.on('timeout', () => upstream.destroy())
    upstream.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end('The requested server did not answer.\n')
    })
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers))
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    response.on('close', () => upstream.destroy())
    request.pipe(upstream)
  }

  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await removeDeadSockets(folder)
  const file = join(folder, `${process.pid}-${randomBytes(4).toString('hex')}.sock`)
  await listenAt(file, server)
  server.unref()
  return {
    close() {
      rmSync(file, { force: true })
      server.close()
      server.closeAllConnections()
      ownRequests.closeAllConnections()
    },
  }
}

const withoutHopByHop = (headers: IncomingMessage['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)))

/** Removes sockets left by servers that were killed. */
async function removeDeadSockets(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    const isAlive = await new Promise<boolean>((resolve) => {
      const socket = connectTo(file)
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (!isAlive) rmSync(file, { force: true })
  }
}
