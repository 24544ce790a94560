import { RefusedFetch, type SafeFetch } from '../../ports/safe-fetch.ts'

/** More than any tool has a reason to say at once; whoever says more is not listened to. */
const MOST_BYTES = 32 * 1024 * 1024

type WatchedFetch = {
  fetch: SafeFetch
  /** Resolves when the server was told that nobody waits for its answer any more, or could not be told. */
  cancelSent: Promise<void>
}

type WatchedFetchOptions = {
  /** Decides where requests may go, on every hop. */
  fetch: SafeFetch
  /** Of the server: nothing goes to another one, whatever it says of itself. */
  origin: string
  /** A call is being sent. What it gives back is told when the stream of its answer ended; `resumable`: another may follow. */
  onCall(): (resumable: boolean) => void
}

/**
 * What the protocol's library does not tell: that the stream of an answer ended without one, and that a cancel went out.
 * Its stream for what servers say unasked is refused as if they had none: nothing we use comes that way, and it would
 * hold a socket for each connection.
 */
export function watchedFetch({ fetch, origin, onCall }: WatchedFetchOptions): WatchedFetch {
  const { promise: cancelSent, resolve: tellCancelSent } = Promise.withResolvers<void>()
  return {
    cancelSent,
    async fetch(url, init = {}) {
      const asked = new URL(url).origin
      if (asked !== origin) throw new RefusedFetch(`it leads away from ${origin}, to ${asked}`)
      const method = methodIn(init)
      if (method === 'listen') return new Response(null, { status: 405 })
      const onEnd = method === 'tools/call' ? onCall() : undefined
      const sent = fetch(url, init)
      if (method === 'notifications/cancelled') void sent.finally(tellCancelSent).catch(() => undefined)
      const response = await sent
      return bounded(response, onEnd)
    },
  }
}

/** `listen`: the stream of a streamable server that answers nothing. */
function methodIn({ method, body, headers }: RequestInit): string | undefined {
  if (method === 'GET' && headers instanceof Headers) {
    const isStreamable = headers.has('mcp-protocol-version')
    return isStreamable && !headers.has('last-event-id') ? 'listen' : undefined
  }
  if (typeof body !== 'string') return undefined
  return (JSON.parse(body) as { method?: string }).method
}

const EVENT_END = /\n\r?\n|\r\r/

/**
 * The same answer, cut off where it is too long, and with somebody told when it is over. A stream of events may go on for
 * as long as it likes: only what one of them says is counted.
 */
function bounded(response: Response, onEnd?: (resumable: boolean) => void): Response {
  if (!response.body || response.status < 200 || response.status >= 300) return response
  const reader = response.body.getReader()
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  let bytes = 0
  let resumable = false
  // Whoever reads must have read the last piece first, which takes no more than the rest of this tick.
  const tellEnd = () => setTimeout(() => onEnd?.(resumable), 0)
  const body = new ReadableStream<Uint8Array>({
    async pull(out) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          out.close()
          tellEnd()
          return
        }
        const said = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
        bytes += value.byteLength
        if (bytes > MOST_BYTES) throw new Error(`The server said more than ${MOST_BYTES} bytes.`)
        if (isStream && EVENT_END.test(said)) bytes = 0
        resumable ||= /^id:/m.test(said)
        out.enqueue(value)
      } catch (fault) {
        out.error(fault)
        tellEnd()
        void reader.cancel().catch(() => undefined)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}
