import type { FastifyInstance } from 'fastify'

const METHODS = 'GET, POST, PUT, PATCH, DELETE'
/** Browsers ask again after this many seconds. */
const MAX_AGE = '600'
const HEADER_NAMES = /^[\w\-, ]{1,2000}$/

/**
 * Lets pages of these origins call the server. A preflight is answered without a key: browsers send none with it. No
 * credentials are allowed, so a browser adds no cookie and no password of its own; the page sends its key.
 */
export function registerCors(server: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  server.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    // Caches must not give one origin the answer to another.
    reply.header('vary', 'origin')
    if (origin === undefined || !allowed.has(origin)) return done()
    reply.header('access-control-allow-origin', origin)
    const method = request.headers['access-control-request-method']
    if (request.method !== 'OPTIONS' || method === undefined) {
      reply.header('access-control-expose-headers', '*')
      return done()
    }
    const names = String(request.headers['access-control-request-headers'] ?? '')
    if (HEADER_NAMES.test(names)) reply.header('access-control-allow-headers', names)
    if (request.headers['access-control-request-private-network'] === 'true')
      reply.header('access-control-allow-private-network', 'true')
    reply.header('access-control-allow-methods', METHODS)
    reply.header('access-control-max-age', MAX_AGE)
    void reply.code(204).send()
  })
}
