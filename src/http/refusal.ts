import type { FastifyRequest } from 'fastify'
import { plainRefusal } from './errors.ts'
import { openaiRefusal } from './openai/errors.ts'

/** The body of a refusal, in the format of the surface that the request was for. */
export function refusalBody({ routeOptions, url }: FastifyRequest, detail: string, status: number) {
  const usual = url.startsWith('/openai/') ? openaiRefusal : plainRefusal
  return (routeOptions.config?.refusal ?? usual)(detail, status)
}
