import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { type Dispatcher, errors } from 'undici'
import type { Part } from '../../core/answer.ts'
import { errorText } from '../../core/error-text.ts'
import type { Failure } from '../../core/failure.ts'
import { type Deadlines, PINGS_ONLY_FACTOR } from './deadlines.ts'
import type { Classify, ClassifyTransport, Decoder, Phase } from './dialect.ts'
import { newPartQueue } from './part-queue.ts'

type ExchangeRequest = {
  dispatcher: Dispatcher
  options: Dispatcher.DispatchOptions
  deadlines: Required<Deadlines>
  signal: AbortSignal
  newDecoder(headers: Headers): Decoder
  classify(refusal: { status: number; headers: Headers; body: string }): ReturnType<Classify>
  classifyTransport: ClassifyTransport
  now(): number
}
type Headers = Readonly<Record<string, string>>

/** The start of an error page is enough to classify it. */
const MAX_DOCUMENT_BYTES = 64 * 1024
const MAX_DOCUMENT_MS = 10_000
/** After the finish only the end of the response is missing; a connection that does not end in time is closed. */
const DRAIN_MS = 1_000
/** Limit for one event; no known protocol sends larger ones. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024

/**
 * One request and its answer as parts. Every error becomes a `failure` part, which is the last part; an abort ends the
 * stream without one.
 */
export function openExchange(call: ExchangeRequest): AsyncIterator<Part, void, void> {
  const { deadlines, signal, now } = call
  const queue = newPartQueue({ pause: () => controller?.pause(), resume, close: cancel })

  let controller: Dispatcher.DispatchController | undefined
  let phase: Phase = 'connect'
  let phaseStartedAt = now()
  let lastByteAt = phaseStartedAt
  let lastProgressAt = phaseStartedAt
  let status = 0
  let headers: Headers = {}
  let decoder: Decoder | undefined
  /** The detected type of the body; an HTML page or JSON document instead of a stream is read as an error. */
  let body: 'unknown' | 'stream' | 'document' = 'unknown'
  const documentParts: Buffer[] = []
  let documentBytes = 0
  let timer: NodeJS.Timeout | undefined
  let timerDueAt = Number.POSITIVE_INFINITY

  const text = new StringDecoder('utf8')
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent(event) {
      if (queue.isEnded()) return
      const parts = decoder!.take(event as { event?: string; data: string })
      if (parts.length === 0) return
      lastProgressAt = lastByteAt
      for (const part of parts) emit(part)
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') fail(malformed(error.message))
    },
  })

  if (signal.aborted) queue.end()
  else start()
  return queue.reader

  function start(): void {
    signal.addEventListener('abort', cancel, { once: true })
    enter('connect')
    try {
      call.dispatcher.dispatch(call.options, handler())
    } catch (error) {
      fail(beforeSending(error))
    }
  }

  function beforeSending(error: unknown): Failure {
    const isOurs = error instanceof errors.InvalidArgumentError
    if (isOurs) return { kind: 'invalid-request', detail: `the request cannot be sent: ${error.message}` }
    return call.classifyTransport(error, phase)
  }

  function handler(): Dispatcher.DispatchHandler {
    return {
      onRequestStart(started) {
        controller = started
        if (queue.isEnded()) return controller.abort(new Error('aborted before the request was sent'))
        enter('first-byte')
      },
      onResponseStart(_, code, received) {
        if (code < 200 || queue.isEnded()) return
        status = code
        headers = flattenHeaders(received)
        const coding = headers['content-encoding'] ?? 'identity'
        if (code >= 300 || isDocumentType(headers['content-type'])) readDocument()
        else if (coding !== 'identity')
          fail(malformed(`the response has content-encoding ${coding}, which was not requested`))
        else decoder = call.newDecoder(headers)
      },
      onResponseData(_, chunk) {
        if (queue.isEnded()) return
        lastByteAt = now()
        if (phase === 'first-byte') {
          lastProgressAt = lastByteAt
          enter('between-chunks')
        }
        if (body === 'unknown') decideBody(chunk)
        if (body === 'document') return keepDocument(chunk)
        try {
          parser.feed(text.write(chunk))
        } catch (error) {
          fail(malformed(errorText(error)))
        }
      },
      onResponseEnd() {
        if (queue.isEnded()) return release()
        if (body === 'document') endDocument()
        else
          endAnswer({ kind: 'cut-off', detail: 'the stream ended without a finish reason', mayHaveBeenAccepted: true })
      },
      onResponseError(_, error) {
        if (queue.isEnded()) return release()
        if (body === 'document') endDocument()
        else if (phase === 'connect') fail(beforeSending(error))
        else endAnswer({ mayHaveBeenAccepted: true, ...call.classifyTransport(error, phase) })
      },
    }
  }

  function decideBody(chunk: Buffer): void {
    const first = chunk.find((byte) => !WHITE_SPACE.has(byte))
    if (first === undefined) return
    if (DOCUMENT_STARTS.has(first)) readDocument()
    else body = 'stream'
  }

  function readDocument(): void {
    body = 'document'
    enter('body')
  }

  function keepDocument(chunk: Buffer): void {
    documentParts.push(chunk)
    documentBytes += chunk.length
    if (documentBytes >= MAX_DOCUMENT_BYTES) endDocument()
  }

  function endDocument(): void {
    const page = Buffer.concat(documentParts).subarray(0, MAX_DOCUMENT_BYTES).toString('utf8')
    fail(call.classify({ status, headers, body: page }))
  }

  /** If the provider stated its finish before the connection ended, the answer is complete even after an error. */
  function endAnswer(otherwise: Failure): void {
    try {
      for (const part of decoder?.end() ?? []) emit(part)
    } catch (error) {
      fail(malformed(errorText(error)))
    }
    if (queue.isEnded()) abandon()
    else fail(otherwise)
  }

  function emit(part: Part): void {
    if (queue.isEnded()) return
    if (part.type === 'failure') {
      fail(part.failure)
      return
    }
    queue.push(part)
    if (part.type !== 'finish') return
    queue.end()
    release()
    timer = setTimeout(abandon, DRAIN_MS).unref()
  }

  function fail(failure: Failure): void {
    if (queue.isEnded()) return
    const requestId = failure.requestId ?? headers['x-request-id'] ?? headers['request-id']
    queue.push({ type: 'failure', failure: requestId ? { ...failure, requestId } : failure })
    abandon()
  }

  /** The reader stopped or aborted. */
  function cancel(): void {
    queue.clear()
    abandon()
  }

  /** Closes the socket at once, also in the middle of a response. */
  function abandon(): void {
    queue.end()
    release()
    controller?.abort(new Error('aborted'))
  }

  function release(): void {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }

  function resume(): void {
    lastByteAt = now()
    lastProgressAt = lastByteAt
    controller?.resume()
  }

  function enter(next: Phase): void {
    phase = next
    phaseStartedAt = now()
    if (dueAt() < timerDueAt) arm()
  }

  /** A timer that fires too early is armed again: cheaper than a new timer per chunk. */
  function arm(): void {
    clearTimeout(timer)
    timerDueAt = dueAt()
    timer = setTimeout(checkDeadline, Math.max(1, Math.ceil(timerDueAt - now())))
  }

  function checkDeadline(): void {
    // Time during backpressure from a slow reader does not count as a stall of the provider.
    if (controller?.paused) lastByteAt = lastProgressAt = now()
    if (dueAt() > now()) arm()
    else if (phase === 'body') endDocument()
    else endAnswer(expired())
  }

  function dueAt(): number {
    switch (phase) {
      case 'connect':
        return phaseStartedAt + deadlines.connectMs
      case 'first-byte':
        return phaseStartedAt + deadlines.firstByteMs
      case 'between-chunks':
        return Math.min(lastByteAt + deadlines.stallMs, lastProgressAt + PINGS_ONLY_FACTOR * deadlines.stallMs)
      case 'body':
        return phaseStartedAt + Math.min(MAX_DOCUMENT_MS, deadlines.stallMs)
    }
  }

  function expired(): Failure {
    const code = phase
    switch (phase) {
      case 'connect':
        return { kind: 'timeout', code, detail: `no connection within ${deadlines.connectMs} ms` }
      case 'first-byte': {
        const detail = `no first byte within ${deadlines.firstByteMs} ms`
        return { kind: 'timeout', code, detail, mayHaveBeenAccepted: true }
      }
      case 'between-chunks':
      case 'body': {
        const isSilent = now() - lastByteAt >= deadlines.stallMs
        const detail = isSilent
          ? `no data for ${deadlines.stallMs} ms in the middle of the answer`
          : `only keep-alive pings for ${PINGS_ONLY_FACTOR * deadlines.stallMs} ms`
        return { kind: 'stalled', code, detail, mayHaveBeenAccepted: true }
      }
    }
  }
}

const WHITE_SPACE = new Set([...Buffer.from(' \t\r\n'), 0xef, 0xbb, 0xbf])
/** First bytes of JSON and HTML; no line of an event stream starts with them. */
const DOCUMENT_STARTS = new Set(Buffer.from('{[<"'))

const isDocumentType = (contentType: string | undefined): boolean =>
  contentType !== undefined && /\b(json|html|xml)\b/i.test(contentType) && !/event-stream/i.test(contentType)

const malformed = (detail: string): Failure => ({ kind: 'malformed-answer', detail, mayHaveBeenAccepted: true })

function flattenHeaders(headers: Record<string, string | string[] | undefined>): Headers {
  const result: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}
