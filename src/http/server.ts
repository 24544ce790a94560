import { type FastifyInstance, fastify } from 'fastify'
import { Problem } from '../core/problem.ts'
import type { Desk } from '../service/desk.ts'
import { keepAccessLog } from './access-log.ts'
import { keyDigest, keyGuard } from './api-key.ts'
import { readJson } from './json-body.ts'
import { answerOf, type ErrorAnswer } from './letta/errors.ts'
import { OPEN_PATHS, registerHealthRoutes } from './letta/health.ts'
import { comesLater } from './letta/later.ts'
import { registerMessageRoutes } from './letta/messages.ts'
import { registerResourceRoutes } from './letta/resources.ts'
import { registerRunRoutes } from './letta/runs.ts'
import { registerStepRoutes } from './letta/steps.ts'
import { newMetrics } from './metrics.ts'
import { isFromNeighbour, isLoopback } from './neighbours.ts'

export type ServerOptions = {
  desk: Desk
  host: string
  /** 0 takes any free port. */
  port: number
  apiKey: string
  version: string
  /** Faults of ours: the client is told nothing of them. */
  report(fault: unknown, where: string): void
  /** Where the access log goes; without it there is none. */
  log?(line: string): void
}

export type RunningServer = {
  url: string
  /** Streams end without an end, waiting requests are told to come back, nothing new is accepted. */
  close(): Promise<void>
}

const BODY_LIMIT = 10 * 1024 * 1024
/** For the whole of a request to arrive; answers may take as long as they take. */
const REQUEST_TIMEOUT_MS = 60_000
const HEADERS_TIMEOUT_MS = 20_000
const KEEP_ALIVE_MS = 75_000
const MOST_CONNECTIONS = 10_000
const SHORTEST_PUBLIC_KEY = 32
const CLOSE_GRACE_MS = 2_000

/** The way in for the official client. What it serves is what the desk can do. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { desk, host, port, apiKey, version, report, log } = options
  requireKey(options)
  const server = fastify({
    ...{ bodyLimit: BODY_LIMIT, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    forceCloseConnections: 'idle',
    genReqId: () => crypto.randomUUID(),
  })
  const metrics = newMetrics(desk.hearing)
  const closing = new AbortController()
  server.decorate('serving', { closing: closing.signal, streams: metrics.streams, keyOf: keyDigest })

  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, readJson(body as Buffer))
    } catch (fault) {
      done(fault as Error)
    }
  })
  answerErrors(server, report)
  admit(server, { apiKey, isLocal: isLoopback(host) })
  server.addHook('onSend', async (_, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
  if (log) keepAccessLog(server, { write: log, secrets: [apiKey] })
  server.addHook('onResponse', async (request, reply) =>
    metrics.answered(`${request.method} ${request.routeOptions.url ?? 'unknown'}`, reply.statusCode),
  )

  registerHealthRoutes(server, desk, version)
  registerResourceRoutes(server, desk)
  registerMessageRoutes(server, desk)
  registerRunRoutes(server, desk)
  registerStepRoutes(server, desk)
  server.get('/metrics', async (_, reply) => {
    const { type, text } = await metrics.page()
    return reply.type(type).send(text)
  })

  server.server.maxConnections = MOST_CONNECTIONS
  server.server.headersTimeout = HEADERS_TIMEOUT_MS
  await server.listen({ host, port })
  const { port: taken } = server.server.address() as { port: number }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    async close() {
      closing.abort()
      // Whoever is still written to has this long to read its last word.
      const hurry = setTimeout(() => server.server.closeAllConnections(), CLOSE_GRACE_MS)
      await server.close()
      clearTimeout(hurry)
      metrics.close()
    },
  }
}

function requireKey({ apiKey, host }: ServerOptions): void {
  if (apiKey.trim() === '') throw new Problem('invalid', 'The server needs a key; an empty one protects nothing.')
  if (isLoopback(host) || apiKey.length >= SHORTEST_PUBLIC_KEY) return
  throw new Problem(
    'invalid',
    `Others can reach ${host}: the key must have at least ${SHORTEST_PUBLIC_KEY} characters. Unset HOLDFAST_API_KEY to have one made.`,
  )
}

/** Who may come in: whoever is not sent by a stranger's page and shows the key. */
function admit(server: FastifyInstance, { apiKey, isLocal }: { apiKey: string; isLocal: boolean }): void {
  const isKnown = keyGuard(apiKey)
  server.addHook('onRequest', async (request, reply) => {
    const { host, origin, authorization } = request.headers
    if (!isFromNeighbour({ host, origin }, { isLocal }))
      return reply.code(403).send({ detail: 'This server is not known under the name it was asked by.' })
    const path = request.url.split('?')[0]!.replace(/\/$/, '')
    if (OPEN_PATHS.has(path) || isKnown(authorization)) return undefined
    return reply.code(401).send({ detail: 'Unauthorized' })
  })
}

/** Fastify's own refusals, by what the client expects of them. */
const OWN_WORDS: Record<string, ErrorAnswer> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, body: { detail: `The body is larger than ${BODY_LIMIT} bytes.` } },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { status: 415, body: { detail: 'Send application/json.' } },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { status: 400, body: { detail: 'The body is not as long as its header says.' } },
}

function answerErrors(server: FastifyInstance, report: ServerOptions['report']): void {
  server.setNotFoundHandler(async (request, reply) => {
    const what = comesLater(request.method, request.url.split('?')[0]!)
    if (!what) return reply.code(404).send({ detail: 'Not Found' })
    return reply.code(501).send({ detail: `Holdfast does not serve this yet: ${what}.` })
  })
  server.setErrorHandler(async (fault: Error & { code?: string; statusCode?: number }, request, reply) => {
    const known = answerOf(fault) ?? OWN_WORDS[fault.code ?? ''] ?? mistakeOf(fault)
    if (known) {
      const { status, body, headers } = known
      return reply
        .code(status)
        .headers(headers ?? {})
        .send(status === 422 ? { ...body, trace_id: request.id } : body)
    }
    report(fault, `${request.method} ${request.routeOptions.url ?? 'unknown route'}`)
    return reply.code(500).send({ detail: 'An unknown error occurred', trace_id: request.id })
  })
}

/** What the framework itself holds against a request is the caller's, and says nothing of ours. */
function mistakeOf({ statusCode, message }: { statusCode?: number; message: string }): ErrorAnswer | undefined {
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined
  return { status: statusCode, body: { detail: message } }
}
