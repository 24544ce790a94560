import { z } from 'zod'
import { operation } from '../operation.ts'

const statusSchema = z.object({ version: z.string(), status: z.string() })

const health = operation({
  route: 'GET /v1/health',
  scope: 'open',
  summary: 'Liveness probe: answers while the process runs; needs no key',
  group: 'server',
  answer: statusSchema,
  handle: ({ request }) => ({ version: request.server.serverContext.version, status: 'ok' }),
})

const ready = operation({
  route: 'GET /v1/ready',
  scope: 'open',
  summary: 'Readiness probe: 503 while runs cannot be accepted; needs no key',
  group: 'server',
  answer: statusSchema,
  async handle({ request, reply }) {
    const { version, draining, isReady } = request.server.serverContext
    if (draining.aborted) return reply.code(503).send({ version, status: 'shutting down' })
    if (await isReady()) return { version, status: 'ok' }
    return reply.code(503).send({ version, status: 'the database cannot be written' })
  },
})

const metrics = operation({
  route: 'GET /metrics',
  scope: 'operator',
  summary: 'Shows metrics in the Prometheus format',
  group: 'server',
  produces: 'text/plain',
  answer: z.string(),
  async handle({ request, reply }) {
    const { type, text } = await request.server.serverContext.metrics.page()
    return reply.type(type).send(text)
  },
})

const openApi = operation({
  route: 'GET /openapi.json',
  scope: 'open',
  summary: 'Describes this API for programs, as OpenAPI 3.1; needs no key',
  group: 'server',
  answer: z.looseObject({ openapi: z.string() }),
  handle: ({ request, reply }) =>
    reply.type('application/json; charset=utf-8').send(request.server.serverContext.description.document()),
})

/** Allows only the page itself: no scripts, no frames, no external resources. */
const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const docs = operation({
  route: 'GET /docs',
  scope: 'open',
  summary: 'Describes this API for people; needs no key',
  group: 'server',
  produces: 'text/html',
  answer: z.string(),
  handle: ({ request, reply }) =>
    reply
      .headers(PAGE_HEADERS)
      .type('text/html; charset=utf-8')
      .send(request.server.serverContext.description.page(`${request.protocol}://${request.host}`)),
})

/** Operations of the server itself, for operators and monitoring. */
export const serverOperations = [health, ready, metrics, openApi, docs]
