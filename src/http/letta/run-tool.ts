import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { RunToolRequest } from '../../service/tools/run-tool.ts'
import { record } from '../field.ts'

export const runBody = z.object({
  args: record.nullish().describe('The arguments, by name.'),
})

/** What a request to run a tool asks for. Whoever hangs up stops it. */
export function toRunToolRequest(
  { args }: z.output<typeof runBody>,
  { headers, raw }: Pick<FastifyRequest, 'headers'> & Pick<FastifyReply, 'raw'>,
): RunToolRequest {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return {
    input: args ?? {},
    signal: gone.signal,
    isRepeat: Number(headers['x-stainless-retry-count'] ?? 0) > 0,
  }
}
