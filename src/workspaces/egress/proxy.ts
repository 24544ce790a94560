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

const SILENCE_MS = 300_000
const MAX_CONNECTIONS = 512
/** What is said between two ends of one connection and goes no further. */
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

/** The way out of sandboxes: to the names on the list and nowhere else. Names are resolved here, and what was judged is connected to. */
export async function newProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { folder, report } = options
  const domains = options.domains.map((text) => {
    const domain = parseDomain(text)
    if (!domain) throw new Error(`"${text}" in the list of domains (HOLDFAST_EGRESS) is no domain.`)
    return domain
  })
  const resolve = options.resolve ?? ((host: string) => lookup(host, { all: true }))

  /** The address to connect to, or why not. */
  async function judge(
    target: { host: string; port: number } | undefined,
  ): Promise<{ address: string } | { no: string }> {
    if (!target) return { no: 'That is no address.' }
    const { host, port } = target
    if (!isAllowedHost(domains, host, port))
      return { no: `${host}:${port} is not on the list of domains that may be reached from here (HOLDFAST_EGRESS).` }
    const found = await resolve(host).catch(() => [])
    const [first] = found
    if (!first) return { no: `The name ${host} could not be resolved.` }
    if (!found.every(({ address }) => options.isPublicAddress(address)))
      return { no: `${host} leads to an address that is not on the public internet.` }
    return { address: first.address }
  }

  const server = createServer((request, response) => {
    void forward(request, response).catch((fault) => {
      report(fault, 'the proxy of workspaces')
      response.destroy()
    })
  })
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void tunnel(request, socket, head).catch((fault) => {
      report(fault, 'the proxy of workspaces')
      socket.destroy()
    })
  })
  server.maxConnections = MAX_CONNECTIONS

  async function tunnel(request: IncomingMessage, inside: Socket, head: Buffer): Promise<void> {
    inside.on('error', () => inside.destroy())
    const target = parseHostPort(request.url ?? '')
    const verdict = await judge(target)
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
      one.setTimeout(SILENCE_MS, () => one.destroy())
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
    const verdict = await judge(target)
    if (!url || 'no' in verdict)
      return void response
        .writeHead(403, { 'content-type': 'text/plain' })
        .end(`${'no' in verdict ? verdict.no : ''}\n`)
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
    const asked = httpRequest({
      host: verdict.address,
      port: target!.port,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host },
      timeout: SILENCE_MS,
      agent: false,
    })
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end('The server there did not answer.\n')
    })
    asked.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers))
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    response.on('close', () => asked.destroy())
    request.pipe(asked)
  }

  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await removeDead(folder)
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

const withoutHops = (headers: IncomingMessage['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)))

/** Sockets that servers left which were killed. */
async function removeDead(folder: string): Promise<void> {
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
