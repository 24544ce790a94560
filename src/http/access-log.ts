import type { FastifyInstance } from 'fastify'

/** One line of JSON for each request that was answered. Values that are secret are taken out, wherever they stand. */
export function keepAccessLog(
  server: FastifyInstance,
  { write, secrets }: { write(line: string): void; secrets: readonly string[] },
): void {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
  server.addHook('onResponse', async (request, reply) => {
    const line = JSON.stringify({
      ...{ at: new Date().toISOString(), id: request.id, from: request.ip, method: request.method, url: request.url },
      ...{ status: reply.statusCode, ms: Math.round(reply.elapsedTime), run: reply.getHeader('x-run-id') ?? null },
      agent: request.headers['user-agent'] ?? null,
    })
    write(hidden.reduce((text, secret) => text.replaceAll(secret, '[secret]'), line))
  })
}
