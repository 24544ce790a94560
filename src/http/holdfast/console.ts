import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../core/problem.ts'
import { consoleFile } from '../console-files.ts'
import { operation } from '../operation.ts'

/** Scripts, styles and requests of this server only; images may be data of a message. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  // A new version of the server has new files; the tag makes asking cheap.
  'cache-control': 'no-cache',
}

const showConsole = operation({
  route: 'GET /',
  scope: 'open',
  summary: 'The console: a page to talk to agents, decide what waits for a person, and see what happened',
  group: 'console',
  produces: 'text/html',
  answer: z.string(),
  handle: ({ request, reply }) => sendFile('index.html', request, reply),
})

const showFile = operation({
  route: 'GET /console/:file',
  scope: 'open',
  summary: 'A file of the console',
  group: 'console',
  params: { file: z.string().describe('Name of the file.') },
  produces: 'text/html',
  answer: z.string(),
  handle: ({ params, request, reply }) => sendFile(params.file, request, reply),
})

async function sendFile(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const file = await consoleFile(name)
  if (!file) throw new Problem('not-found', `The console has no file "${name.slice(0, 80)}".`)
  reply.headers(HEADERS).header('etag', file.tag)
  if (request.headers['if-none-match'] === file.tag) return reply.code(304).send()
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  if (takesGzip) reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding')
  return reply.type(file.type).send(takesGzip ? file.gzip : file.text)
}

export const consoleOperations = [showConsole, showFile]
