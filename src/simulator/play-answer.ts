import { aborted } from '../core/abort.ts'
import type { Json } from '../core/json.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import type { Exchange } from './exchange.ts'
import { sever } from './listening.ts'
import { pause, playReply, requestIds } from './play-reply.ts'
import type { Answer, LineAnswer, Pace } from './script.ts'
import { vendorError } from './vendor-errors.ts'

/** Closes the port for a while. */
type Refuse = (forMs: number) => void

export async function playAnswer(answer: Answer, exchange: Exchange, refuse: Refuse): Promise<void> {
  const { asked, recorded, number } = exchange
  if ('line' in answer) return playLine(answer, exchange, refuse)
  if ('error' in answer) {
    const protocol = recorded.protocol === 'unknown' ? 'models' : recorded.protocol
    return sendHttp(vendorError(answer, { protocol, model: recorded.model, number }), exchange, answer.pace)
  }
  if ('status' in answer) return sendHttp(answer, exchange, answer.pace)
  if (!asked) return sendHttp(NO_MODEL, exchange)
  return playReply(answer, asked, { ...exchange, voice: SIMULATED_DIALECTS[asked.protocol].voice })
}

const NO_MODEL: HttpAnswer = {
  status: 500,
  body: { error: 'The script answers this request with words of a model; it needs `status`, `error` or `line`.' },
}

function playLine(answer: LineAnswer, { response, signal }: Exchange, refuse: Refuse): Promise<void> | undefined {
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
