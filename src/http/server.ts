import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { Problem } from '../core/problem.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { logFault, registerAccessLog } from './access-log.ts'
import { admit } from './admission.ts'
import { newApiDescription } from './api-description.ts'
import { keyDigest } from './api-key.ts'
import { shareConnections } from './connections.ts'
import { newConsoleSessions } from './console-session.ts'
import { registerCors } from './cors.ts'
import { type ErrorAnswer, toErrorAnswer } from './errors.ts'
import { newKeepAliveTimer } from './event-stream.ts'
import { signInPath } from './holdfast/session.ts'
import { newHookTraffic } from './hook-traffic.ts'
import { boundBytesInFlight } from './in-flight.ts'
import { LETTA_ERRORS } from './letta/errors.ts'
import { newMetrics } from './metrics.ts'
import { isLoopback } from './origin-check.ts'
import { newReadiness } from './readiness.ts'
import { refusalBody } from './refusal.ts'
import { operationOf, registerOperations, SCHEMA_COMPILERS } from './register.ts'
import { readBodies } from './request-body.ts'
import { SURFACES } from './surfaces.ts'
import { boundStreams } from './tenant-traffic.ts'
import { newUploads } from './uploads.ts'

export type ServerOptions = {
  context: ServiceContext
  host: string
  /** 0 takes any free port. */
  port: number
  apiKey: string
  version: string
  /** The folder for files that arrive; by default a temporary one. It is emptied. */
  uploads?: string
  /** Reports internal errors, whose details are not sent to the client. */
  report(fault: unknown, where: string): void
  /** Writes a line of the access log; without it there is no access log. */
  log?(line: string): void
  /** Values to redact from the log; the server's own key always is redacted. */
  secrets?: readonly string[]
}

export type RunningServer = {
  url: string
  /** Starts a graceful shutdown: new requests are refused, current ones continue. */
  drain(): void
  /** The path of a one-time link that signs a browser in; undefined on a public address. */
  signInLink(): string | undefined
  /** Ends streams without `[DONE]`, answers waiting requests with 503 and refuses new ones. */
  close(): Promise<void>
}

const KEEP_ALIVE_MS = 75_000
/** How often the server checks for requests that take too long to arrive. */
const ARRIVAL_CHECK_MS = 1_000
const MIN_PUBLIC_KEY_LENGTH = 32
/** Other users of the machine can reach a loopback address. */
const MIN_LOCAL_KEY_LENGTH = 8
const CLOSE_GRACE_MS = 2_000

/** Starts the HTTP server, which serves the operations of all surfaces. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  requireKey(options)
  const { host, port } = options
  const { server, drain, close, signInLink } = await buildServer(options)
  await server.listen({ host, port })
  const { port: taken } = server.server.address() as { port: number }
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`, drain, close, signInLink }
}

type BuiltServer = Omit<RunningServer, 'url'> & { server: FastifyInstance }

/** The server before it listens. */
export async function buildServer(options: Omit<ServerOptions, 'port'>): Promise<BuiltServer> {
  const { context, host, apiKey, version, report, log } = options
  const { limits } = context
  const server = fastify({
    requestTimeout: limits.requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: Math.min(limits.headersMs, limits.requestMs),
      connectionsCheckingInterval: ARRIVAL_CHECK_MS,
    },
    rewriteUrl: ({ url = '/' }) => (isDecodable(url) ? url : url.replaceAll('%', '%25')),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    forceCloseConnections: 'idle',
    genReqId: () => crypto.randomUUID(),
    schemaController: { compilersFactory: SCHEMA_COMPILERS },
  })
  const sessions = newConsoleSessions({ box: context.secretKeys.box, homeId: await context.deps.store.homeId() })
  const metrics = newMetrics(context)
  const stopPushing = context.telemetry?.pushMetrics(metrics.families)
  const closing = new AbortController()
  const draining = new AbortController()
  server.decorate('serverContext', {
    hookTraffic: newHookTraffic(),
    version,
    metrics,
    isReady: newReadiness(context),
    description: newApiDescription(
      SURFACES.flatMap(({ operations }) => operations),
      version,
    ),
    keepAliveTimer: newKeepAliveTimer(),
    stalledMs: limits.stalledAnswerMs,
    closing: closing.signal,
    draining: draining.signal,
    streams: metrics.streams,
    sessions,
    keyOf: keyDigest,
    recheckKeys: () => ring.recheck(),
    trafficOf: ({ organizationId, keyId }) => ({
      ...traffic.openOf(organizationId),
      bytes: bytes.heldBy(organizationId),
      key: keyId ? { ...ring.openOf(keyId), bytes: bytes.heldBy(keyId) } : undefined,
    }),
  })

  const secrets = [apiKey, ...(options.secrets ?? [])]
  const reportAndLog: typeof report = (fault, where) => {
    report(fault, where)
    if (log) logFault(fault, where, { write: log, secrets })
  }
  answerErrors(server, reportAndLog)
  registerCors(server, context.corsOrigins ?? [])
  const admission = admit(server, {
    context,
    apiKey,
    isLocal: isLoopback(host),
    limits,
    sessions,
  })
  const { contextOf, perform, ring, traffic } = admission
  refuseWhileDraining(server)
  boundStreams(server, limits)
  const bytes = boundBytesInFlight(server, limits)
  const connections = shareConnections(server, limits.connections)
  const uploads = newUploads(options.uploads)
  readBodies(server, { limits, uploads })
  // Hooks that run for every request call `done`: a promise would cost more than their work.
  server.addHook('onSend', (_, reply, payload, done) => {
    if (draining.signal.aborted) reply.header('connection', 'close')
    done(null, payload)
  })
  if (log) registerAccessLog(server, { write: log, secrets })
  server.addHook('onResponse', (request, reply, done) => {
    metrics.answered(`${request.method} ${request.routeOptions.url ?? 'unknown'}`, reply.statusCode)
    done()
  })

  registerOperations(server, SURFACES, { contextOf, perform })

  return {
    server,
    drain: () => draining.abort(),
    signInLink: () => (isLoopback(host) ? signInPath(sessions.newLink()) : undefined),
    async close() {
      draining.abort()
      closing.abort()
      // Clients have this long to read the rest of their answers.
      const forceClose = setTimeout(() => server.server.closeAllConnections(), CLOSE_GRACE_MS)
      await server.close()
      clearTimeout(forceClose)
      stopPushing?.()
      metrics.close()
      admission.close()
      connections.close()
      uploads.close()
    },
  }
}

function requireKey({ apiKey, host }: ServerOptions): void {
  if (apiKey.trim() === '')
    throw new Problem('invalid', 'The API key is empty. Set HOLDFAST_API_KEY, or unset it to have a key created.')
  if (isLoopback(host) && apiKey.length < MIN_LOCAL_KEY_LENGTH)
    throw new Problem(
      'invalid',
      `The API key must have at least ${MIN_LOCAL_KEY_LENGTH} characters. Set a longer HOLDFAST_API_KEY, or unset it to have one created.`,
    )
  if (isLoopback(host) || apiKey.length >= MIN_PUBLIC_KEY_LENGTH) return
  throw new Problem(
    'invalid',
    `Other machines can reach ${host}: the API key must have at least ${MIN_PUBLIC_KEY_LENGTH} characters. ` +
      'Set a longer HOLDFAST_API_KEY, or unset it to have one created.',
  )
}

/** The router answers a path that it cannot decode before admission; escaped, it is a path like any other. */
function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true
  try {
    decodeURIComponent(url.split('?', 1)[0]!)
    return true
  } catch {
    return false
  }
}

/** Graceful shutdown: earlier requests are still answered, new ones get a 503 and go to the next process. */
function refuseWhileDraining(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (!server.serverContext.draining.aborted || operationOf(request)?.scope === 'open') return done()
    const detail = 'The server is shutting down. Try again in a moment.'
    void reply
      .code(503)
      .header('retry-after', '1')
      .send(refusalBody(request, detail, 503))
  })
}

/** The answers to Fastify's own errors, by their codes. */
const FASTIFY_ERRORS: Record<string, ErrorAnswer> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    body: { detail: 'This content type is not supported. Send application/json.' },
  },
}

function answerErrors(server: FastifyInstance, report: ServerOptions['report']): void {
  server.setNotFoundHandler(async (request, reply) => reply.code(404).send(refusalBody(request, 'Not Found', 404)))
  server.setErrorHandler(async (fault: Error & { code?: string; statusCode?: number }, request, reply) => {
    const table = request.routeOptions.config?.errors ?? LETTA_ERRORS
    const known = toErrorAnswer(fault, table) ?? inFormatOf(request, toFastifyError(fault))
    if (known) {
      const { status, body, headers } = known
      return reply
        .code(status)
        .headers(headers ?? {})
        .send(status === 422 ? { ...body, trace_id: request.id } : body)
    }
    report(fault, `answering ${request.method} ${request.routeOptions.url ?? 'unknown route'}`)
    return reply.code(500).send({ ...refusalBody(request, 'An unknown error occurred', 500), trace_id: request.id })
  })
}

const toFastifyError = (fault: Error & { code?: string; statusCode?: number }): ErrorAnswer | undefined =>
  FASTIFY_ERRORS[fault.code ?? ''] ?? toClientError(fault)

function inFormatOf(request: FastifyRequest, answer: ErrorAnswer | undefined): ErrorAnswer | undefined {
  return answer && { ...answer, body: refusalBody(request, String(answer.body.detail), answer.status) }
}

/** Fastify's other 4xx errors are mistakes of the client; their messages reveal nothing internal. */
function toClientError({ statusCode, message }: { statusCode?: number; message: string }): ErrorAnswer | undefined {
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined
  return { status: statusCode, body: { detail: message } }
}
