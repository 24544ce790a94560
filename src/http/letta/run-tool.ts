import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { RunToolRequest } from '../../service/tools/run-tool.ts'
import { record } from '../field.ts'

export const runBody = z.object({
  args: record.nullish().describe('Arguments by name.'),
})

/** Converts a request to run a tool. A client that disconnects aborts the tool. */
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
