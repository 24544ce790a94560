import type { FastifyInstance } from 'fastify'
import { apiPage } from './api-page.ts'
import { openApiOf } from './openapi.ts'
import type { DescribedRoute } from './routes.ts'

/** Nothing but the page itself: no scripts, no frames, nothing from elsewhere. */
const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Served by the server itself, for whoever looks after it. */
const OWN: readonly DescribedRoute[] = [
  { method: 'GET', path: '/v1/health', summary: 'Whether the process answers; needs no key', group: 'server' },
  { method: 'GET', path: '/v1/ready', summary: 'Whether runs can be accepted; needs no key', group: 'server' },
  { method: 'GET', path: '/metrics', summary: 'What runs, waits and fails, for Prometheus', group: 'server' },
]

/** What this server serves, for programs and for people. Made when it is first asked for. */
export function registerApiDescription(
  server: FastifyInstance,
  routes: readonly DescribedRoute[],
  version: string,
): void {
  let made: { document: string; page: string } | undefined
  const describe = () => {
    const document = openApiOf([...OWN, ...routes], version)
    return { document: JSON.stringify(document), page: apiPage(document) }
  }
  server.get('/openapi.json', async (_, reply) => {
    made ??= describe()
    return reply.type('application/json; charset=utf-8').send(made.document)
  })
  server.get('/docs', async (_, reply) => {
    made ??= describe()
    return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(made.page)
  })
  server.get('/', async (_, reply) => reply.redirect('/docs'))
}
