import type { FastifyInstance } from 'fastify'
import { checkReady } from '../../service/check-ready.ts'
import type { Desk } from '../../service/desk.ts'

/** Reached without a key, so that a supervisor needs none. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(['/v1/health', '/v1/ready'])

/** So that asking often costs the store nothing. */
const REMEMBERED_MS = 1_000

export function registerHealthRoutes(server: FastifyInstance, desk: Desk, version: string): void {
  server.get('/v1/health', async () => ({ version, status: 'ok' }))

  let last: { at: number; isReady: Promise<boolean> } | undefined
  server.get('/v1/ready', async (_, reply) => {
    const now = Date.now()
    if (!last || now - last.at > REMEMBERED_MS) last = { at: now, isReady: isReady(desk) }
    if (!server.serving.closing.aborted && (await last.isReady)) return { version, status: 'ok' }
    reply.code(503)
    return { version, status: server.serving.closing.aborted ? 'stopping' : 'the store cannot be written' }
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
