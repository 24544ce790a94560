import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json } from '../core/json.ts'
import { wasSevered } from './listening.ts'
import { keyOf, type ParsedModelRequest, parseModelRequest, type ReceivedRequest } from './parse-request.ts'
import type { Recorder, RequestRecord } from './recorder.ts'
import { protocolOf } from './routes.ts'
import { isModelProtocol } from './vendor-errors.ts'

/** The way back to a client; the signal ends with it. */
export type ResponseChannel = { response: ServerResponse; number: number; signal: AbortSignal }

/** A request that was read and recorded, and the line to answer it on. */
export type Exchange = ResponseChannel & {
  received: ReceivedRequest
  recorded: RequestRecord
  modelRequest: ParsedModelRequest | undefined
}

/** Nothing if the client left before it had said what it wanted. */
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

/** Nothing if the client left before its end. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Token endpoints take forms, the others JSON. */
function parseBody(raw: string): Json {
  if (raw === '') return null
  try {
    return JSON.parse(raw) as Json
  } catch {
    return raw
  }
}
