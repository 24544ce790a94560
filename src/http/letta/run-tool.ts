import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import type { RunTool } from '../../service/tools/run-tool.ts'

export const runBody = z.object({
  args: z.record(z.string(), z.json()).nullish().describe('The arguments, by name.'),
})

/** What a request to run a tool asks for. Whoever hangs up stops it. */
export function runAsked(
  { args }: z.output<typeof runBody>,
  { headers, raw }: Pick<FastifyRequest, 'headers'> & Pick<FastifyReply, 'raw'>,
): RunTool {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return {
    input: (args ?? {}) as JsonObject,
    signal: gone.signal,
    isRepeat: Number(headers['x-stainless-retry-count'] ?? 0) > 0,
  }
}
