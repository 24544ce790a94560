import { RefusedFetch, type SafeFetch } from '../../ports/safe-fetch.ts'

/** Limit of one response, or of one event of a stream. */
const MAX_BYTES = 32 * 1024 * 1024

type WatchedFetch = {
  fetch: SafeFetch
  /** Resolves when the cancellation of a call was sent, or could not be sent. */
  cancelSent: Promise<void>
}

type WatchedFetchOptions = {
  /** Checks the address of every hop. */
  fetch: SafeFetch
  /** The server's origin; requests to any other origin are refused. */
  origin: string
  /**
   * Called when a tool call is sent; the returned function when its answer stream ends. `isResumable`: the stream may be
   * resumed.
   */
  onCall(): (isResumable: boolean) => void
}

/**
 * Reports what the SDK does not: that an answer stream ended without an answer, and that a cancellation was sent. The
 * stream for unsolicited server messages is refused with 405: they are not used, and the stream would hold a socket per
 * connection.
 */
export function watchedFetch({ fetch, origin, onCall }: WatchedFetchOptions): WatchedFetch {
  const { promise: cancelSent, resolve: resolveCancelSent } = Promise.withResolvers<void>()
  return {
    cancelSent,
    async fetch(url, init = {}) {
      const requestOrigin = new URL(url).origin
      if (requestOrigin !== origin)
        throw new RefusedFetch(`requests to ${requestOrigin} are not allowed, only to ${origin}`)
      const method = findRpcMethod(init)
      if (method === 'listen') return new Response(null, { status: 405 })
      const onEnd = method === 'tools/call' ? onCall() : undefined
      const sent = fetch(url, init)
      if (method === 'notifications/cancelled') void sent.finally(resolveCancelSent).catch(() => undefined)
      const response = await sent
      return watchBody(response, onEnd)
    },
  }
}

/** `listen`: a GET for the stream of unsolicited messages. */
function findRpcMethod({ method, body, headers }: RequestInit): string | undefined {
  if (method === 'GET' && headers instanceof Headers) {
    const isStreamable = headers.has('mcp-protocol-version')
    return isStreamable && !headers.has('last-event-id') ? 'listen' : undefined
  }
  if (typeof body !== 'string') return undefined
  return (JSON.parse(body) as { method?: string }).method
}

const EVENT_END = /\n\r?\n|\r\r/

/**
 * The same response with a size limit, and a call of `onEnd` at its end. In an event stream the limit applies to each
 * event.
 */
function watchBody(response: Response, onEnd?: (isResumable: boolean) => void): Response {
  if (!response.body || response.status < 200 || response.status >= 300) return response
  const reader = response.body.getReader()
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  let bytes = 0
  let isResumable = false
  // In the next tick: the reader processes the last piece first.
  const notifyEnd = () => setTimeout(() => onEnd?.(isResumable), 0)
  const body = new ReadableStream<Uint8Array>({
    async pull(out) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          out.close()
          notifyEnd()
          return
        }
        const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
        bytes += value.byteLength
        if (bytes > MAX_BYTES)
          throw new Error(`The MCP server sent more than ${MAX_BYTES} bytes in one ${isStream ? 'event' : 'response'}.`)
        if (isStream && EVENT_END.test(text)) bytes = 0
        isResumable ||= /^id:/m.test(text)
        out.enqueue(value)
      } catch (fault) {
        out.error(fault)
        notifyEnd()
        void reader.cancel().catch(() => undefined)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}
