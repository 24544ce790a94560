import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json } from '../core/json.ts'
import { wasSevered } from './listening.ts'
import { keyOf, type ParsedModelRequest, parseModelRequest, type ReceivedRequest } from './parse-request.ts'
import type { Recorder, RequestRecord } from './recorder.ts'
import { protocolOf } from './routes.ts'
import { isModelProtocol } from './vendor-errors.ts'

/** The response to a client; the signal aborts when the connection closes. */
export type ResponseChannel = { response: ServerResponse; number: number; signal: AbortSignal }

/** A parsed and recorded request, with its response. */
export type Exchange = ResponseChannel & {
  received: ReceivedRequest
  recorded: RequestRecord
  modelRequest: ParsedModelRequest | undefined
}

/** Undefined if the client disconnected before its request was complete. */
export async function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { recorder, onEnded }: { recorder: Recorder; onEnded: (request: RequestRecord) => void },
): Promise<Exchange | undefined> {
  const { socket } = request
  const raw = await readBody(request)
  if (raw === undefined) return undefined
  const url = new URL(request.url ?? '/', 'http://simulator')
  const received: ReceivedRequest = {
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    raw,
    body: parseBody(raw),
  }
  const protocol = protocolOf(received.path)
  const modelRequest = protocol && isModelProtocol(protocol) ? parseModelRequest(protocol, received) : undefined
  const recorded = recorder.arrived({
    method: request.method ?? 'GET',
    path: url.pathname + url.search,
    headers: request.headers,
    key: keyOf(request.headers, url.searchParams),
    body: received.body,
    protocol: protocol ?? 'unknown',
    model: modelRequest?.model ?? '',
  })
  const closed = new AbortController()
  const end = () => {
    closed.abort()
    if (response.headersSent) recorded.status = response.statusCode
    const how = wasSevered(socket) ? 'closed-by-simulator' : 'closed-by-client'
    recorder.ended(recorded, response.writableFinished ? 'answered' : how)
    onEnded(recorded)
  }
  if (response.destroyed || socket.destroyed) end()
  else response.once('close', end)
  return { received, modelRequest, recorded, response, number: recorded.number, signal: closed.signal }
}

/** Undefined if the client disconnected before the end of the body. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Token endpoints take forms, other endpoints JSON. */
function parseBody(raw: string): Json {
  if (raw === '') return null
  try {
    return JSON.parse(raw) as Json
  } catch {
    return raw
  }
}
