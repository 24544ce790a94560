import { aborted } from '../core/abort.ts'
import type { Json } from '../core/json.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import type { Exchange } from './exchange.ts'
import { sever } from './listening.ts'
import { pause, playReply, requestIds } from './play-reply.ts'
import type { Answer, ConnectionAnswer, Pace } from './script.ts'
import { vendorError } from './vendor-errors.ts'

/** Closes the port for a while. */
type ClosePort = (forMs: number) => void

export async function playAnswer(answer: Answer, exchange: Exchange, refuse: ClosePort): Promise<void> {
  const { modelRequest, recorded, number } = exchange
  if ('line' in answer) return playConnectionFault(answer, exchange, refuse)
  if ('error' in answer) {
    const protocol = recorded.protocol === 'unknown' ? 'models' : recorded.protocol
    return sendHttp(vendorError(answer, { protocol, model: recorded.model, number }), exchange, answer.pace)
  }
  if ('status' in answer) return sendHttp(answer, exchange, answer.pace)
  if (!modelRequest) return sendHttp(NOT_A_MODEL_REQUEST, exchange)
  return playReply(answer, modelRequest, {
    ...exchange,
    responder: SIMULATED_DIALECTS[modelRequest.protocol].responder,
  })
}

const NOT_A_MODEL_REQUEST: HttpAnswer = {
  status: 500,
  body: { error: 'This is not a model request: the answer in the script needs `status`, `error` or `line`.' },
}

function playConnectionFault(
  answer: ConnectionAnswer,
  { response, signal }: Exchange,
  refuse: ClosePort,
): Promise<void> | undefined {
  switch (answer.line) {
    case 'silent':
      return aborted(signal)
    case 'reset':
    case 'cut':
      sever(response.req.socket, answer.line)
      return
    case 'refuse':
      refuse(answer.forMs)
      return
  }
}

export type HttpAnswer = { status: number; headers?: Record<string, string>; body?: Json }

export async function sendHttp(
  answer: HttpAnswer,
  { response, signal, number }: Exchange,
  pace: Pace = {},
): Promise<void> {
  const { status, headers, body } = answer
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const type =
    typeof body !== 'string' ? 'application/json' : body.trimStart().startsWith('<') ? 'text/html' : 'text/plain'
  await pause(pace.beforeHeadersMs, signal)
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    ...requestIds(number),
    ...headers,
  })
  response.flushHeaders()
  await pause(pace.beforeFirstChunkMs, signal)
  response.end(text)
}
