import type { FastifyInstance } from 'fastify'
import type { Desk } from '../../service/desk.ts'
import { checkReady } from '../../service/store/check-ready.ts'

/** Reached without a key: a supervisor needs none, and what the API looks like is no secret. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(['/v1/health', '/v1/ready', '', '/docs', '/openapi.json'])

/** So that asking often costs the store nothing. */
const REMEMBERED_MS = 1_000

export function registerHealthRoutes(server: FastifyInstance, desk: Desk, version: string): void {
  refuseWhileDraining(server)
  server.get('/v1/health', async () => ({ version, status: 'ok' }))

  let last: { at: number; isReady: Promise<boolean> } | undefined
  server.get('/v1/ready', async (_, reply) => {
    if (server.serving.draining.aborted) return reply.code(503).send({ version, status: 'stopping' })
    const now = Date.now()
    if (!last || now - last.at > REMEMBERED_MS) last = { at: now, isReady: isReady(desk) }
    if (await last.isReady) return { version, status: 'ok' }
    return reply.code(503).send({ version, status: 'the store cannot be written' })
  })
}

/** What came before is still answered. Whoever comes now is sent to the next process. */
function refuseWhileDraining(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (!server.serving.draining.aborted || OPEN_PATHS.has(request.routeOptions.url ?? '')) return done()
    const detail = 'The server is stopping. Try again in a moment.'
    void reply.code(503).header('retry-after', '1').send({ detail })
  })
}

async function isReady(desk: Desk): Promise<boolean> {
  try {
    await checkReady(desk)
    return true
  } catch (fault) {
    desk.world.report(fault, 'readiness')
    return false
  }
}
