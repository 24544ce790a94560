import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MAX_HOOK_BYTES } from '../core/hook.ts'
import type { Limits } from '../core/limits.ts'
import { Problem } from '../core/problem.ts'
import type { InFlight } from './in-flight.ts'
import { readJson } from './json-body.ts'
import { readForm } from './multipart.ts'
import { operationOf } from './register.ts'
import { FILE_LIMIT, fileTooLarge, type Uploads } from './uploads.ts'

const FORM = 'multipart/form-data'
const RAW = '*/*'

/** A body as it arrived, of an operation that checks the signature of these bytes. */
export type RawBody = { bytes: Buffer; isTooLarge: boolean }

/** How long a client may go on sending a body that was refused: long enough to see the answer. */
const LINGER_MS = 5_000
/** Delimiters and fields around the file. */
const FORM_FRAME = 1_048_576

/** The parsers of bodies: JSON everywhere, a form where an operation takes one. */
export function readBodies(server: FastifyInstance, { limits, uploads }: { limits: Limits; uploads: Uploads }): void {
  server.removeAllContentTypeParsers()
  server.addHook('onRequest', (request, _, done) => done(refusalByHeaders(request, limits)))
  // Fastify closes the connection of a body that it does not read. The client, still sending, would see a broken
  // connection instead of the answer; Node.js discards the rest for a while.
  server.addHook('onSend', ({ raw }, reply, payload, done) => {
    // A request of this process has no real socket, and its body is there.
    if (!raw.complete && raw.socket instanceof Socket) {
      reply.removeHeader('connection')
      const tooLong = setTimeout(() => raw.complete || raw.socket.destroy(), LINGER_MS).unref()
      raw.socket.once('close', () => clearTimeout(tooLong))
    }
    done(null, payload)
  })
  server.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const { raw, inFlight } = request
    if (operationOf(request)?.consumes === RAW) return collectRaw(request)
    const body = await collect(raw, { limit: limits.bodyBytes, inFlight })
    return readJson(body, { depth: limits.jsonDepth, values: limits.jsonValues })
  })
  server.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (operationOf(request)?.consumes === RAW) return collectRaw(request)
    throw new Problem('unsupported-type', 'This content type is not supported. Send application/json.')
  })
  server.addContentTypeParser(FORM, async (request: FastifyRequest) => {
    // Routes without an operation are answered with 404.
    if (operationOf(request)?.consumes !== FORM) return undefined
    const { inFlight, raw, headers } = request
    return uploads.receive(raw, {
      caller: request.caller?.actor ?? request.ip,
      read: (body) => readForm(body, headers['content-type'] ?? ''),
      whenAnswered: (release) => inFlight.whenAnswered(release),
    })
  })
}

/** What the headers alone decide, before a byte of the body is read. */
function refusalByHeaders(request: FastifyRequest, { bodyBytes }: Limits): Problem | undefined {
  const { headers } = request
  const operation = operationOf(request)
  const { 'content-type': type = '', 'content-length': length = '0', 'content-encoding': encoding } = headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return new Problem(
      'unsupported-type',
      `Content-Encoding "${encoding.slice(0, 80)}" is not supported. Send the body uncompressed.`,
    )
  if (operation?.consumes === RAW) return undefined
  const isForm = type.toLowerCase().startsWith(FORM)
  if (operation?.consumes === FORM) {
    if (!isForm)
      return new Problem(
        'unsupported-type',
        'This content type is not supported. Send multipart/form-data with the agent file as `file`.',
      )
    return Number(length) > FILE_LIMIT + FORM_FRAME ? fileTooLarge() : undefined
  }
  if (isForm && operation)
    return new Problem('unsupported-type', 'This content type is not supported. Send application/json.')
  return Number(length) > bodyBytes ? bodyTooLarge(bodyBytes) : undefined
}

/** The operation refuses a body that is too large, because its log names each request. */
async function collectRaw({ raw, headers, inFlight }: FastifyRequest): Promise<RawBody> {
  const tooLarge = { bytes: Buffer.alloc(0), isTooLarge: true }
  if (Number(headers['content-length'] ?? 0) > MAX_HOOK_BYTES) return tooLarge
  try {
    return { bytes: await collect(raw, { limit: MAX_HOOK_BYTES, inFlight }), isTooLarge: false }
  } catch (fault) {
    if (fault instanceof Problem && fault.kind === 'too-large') return tooLarge
    throw fault
  }
}

const bodyTooLarge = (bodyBytes: number) =>
  new Problem('too-large', `The body is larger than ${bodyBytes} bytes (limits.body_bytes).`)

/** Collects a body, counted as it arrives. */
function collect(body: IncomingMessage, { limit, inFlight }: { limit: number; inFlight: InFlight }): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stop = (fault: Error) => {
      body.off('data', take).off('end', end).off('error', fail).on('error', ignore).resume()
      reject(fault)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) return stop(bodyTooLarge(limit))
      const refusal = inFlight.refusal()
      if (refusal) return stop(refusal)
      inFlight.hold(chunk.length)
    }
    const end = () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    const fail = () => stop(new Problem('caller-left', 'The connection ended before the whole body arrived.'))
    body.on('data', take).on('end', end).on('error', fail)
  })
}

/** The refusal was answered already. */
const ignore = () => {}
