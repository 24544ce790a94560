import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { connectTo, listenAt } from '../unix-socket.ts'
import { isAllowedHost, parseDomain, parseHostPort } from './domains.ts'

type ProxyOptions = {
  /** Sandboxes see this folder; the socket of each server process is a file in it. */
  folder: string
  domains: readonly string[]
  isPublicAddress(address: string): boolean
  resolve?(host: string): Promise<{ address: string }[]>
  report(fault: unknown, where: string): void
}

export type RunningProxy = { close(): void }

const IDLE_TIMEOUT_MS = 300_000
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
  ): Promise<{ address: string } | { no: string }> {
    if (!target) return { no: 'The requested address is not valid.' }
    const { host, port } = target
    if (!isAllowedHost(domains, host, port))
      return { no: `${host}:${port} is not allowed. The operator can add it to HOLDFAST_EGRESS.` }
    const found = await resolve(host).catch(() => [])
    const [first] = found
    if (!first) return { no: `The name ${host} could not be resolved.` }
    if (!found.every(({ address }) => options.isPublicAddress(address)))
      return { no: `${host} resolves to an address that is not on the public internet.` }
    return { address: first.address }
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
    const verdict = await authorize(target)
    if ('no' in verdict)
      return void inside.end(`HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\n\r\n${verdict.no}\n`)
    const outside = connectSocket({ host: verdict.address, port: target!.port })
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

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.canParse(request.url ?? '') ? new URL(request.url!) : undefined
    const target =
      url?.protocol === 'http:'
        ? { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
        : undefined
    const verdict = await authorize(target)
    if (!url || 'no' in verdict)
      return void response
        .writeHead(403, { 'content-type': 'text/plain' })
        .end(`${'no' in verdict ? verdict.no : ''}\n`)
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
    const upstream = httpRequest({
      host: verdict.address,
      port: target!.port,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host },
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
