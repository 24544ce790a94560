import { randomBytes } from 'node:crypto'
import type { HTTPMethods } from 'fastify'
import { defined } from '../core/defined.ts'
import { DEFAULT_HOST } from '../core/listening.ts'
import type { InProcessOptions, InProcessServer } from '../service/serve-options.ts'
import { buildServer } from './server.ts'
import { WARNINGS_HEADER } from './warnings.ts'

/** The operations of the server in this process, for commands that run while no server owns the home. */
export async function inProcessServer({ context, version }: InProcessOptions): Promise<InProcessServer> {
  const apiKey = randomBytes(32).toString('hex')
  const { report } = context.deps
  const { server, close } = await buildServer({ context, host: DEFAULT_HOST, apiKey, version, report })
  await server.ready()
  return {
    async send(path, init) {
      // A request encodes any kind of body, forms included.
      const request = new Request(`http://${DEFAULT_HOST}${path}`, init)
      const payload = Buffer.from(await request.arrayBuffer())
      const answer = await server.inject({
        method: request.method as HTTPMethods & 'GET',
        url: path,
        headers: { ...Object.fromEntries(request.headers), host: DEFAULT_HOST, authorization: `Bearer ${apiKey}` },
        ...defined({ payload: payload.length > 0 ? payload : undefined }),
      })
      const isEmpty = answer.statusCode === 204 || answer.statusCode === 304
      return new Response(isEmpty ? null : answer.rawPayload, {
        status: answer.statusCode,
        headers: warningsOf(answer.headers),
      })
    },
    close,
  }
}

/** Of the headers, callers read only the warnings. */
const warningsOf = ({ [WARNINGS_HEADER]: warnings }: Record<string, unknown>): Record<string, string> =>
  warnings === undefined ? {} : { [WARNINGS_HEADER]: String(warnings) }
