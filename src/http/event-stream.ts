import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

const KEEPALIVE_MS = 20_000
const KEEPALIVE_CHECK_MS = 5_000
/** A reader that takes nothing for so long is gone; it may come back and go on where it was. */
const STALL_MS = 30_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
}

/** Server-sent events to one reader. */
export type EventStream = {
  /** Aborted when the reader is gone or the server closes. */
  signal: AbortSignal
  /** Whether the reader left before it had everything. */
  isAbandoned(): boolean
  /** Writes an event; nothing to wait for, unless the reader is slow. */
  send(event: { name?: string; data: unknown }): Promise<void> | undefined
  /** Writes the keep-alive of this stream now. */
  keepAlive(): void
  /** Writes the last text and ends; `onSent` when the last byte was handed to the network. */
  end(text: string, onSent?: () => void): Promise<void>
  /** Ends without a last word, so that the reader comes back for the rest. */
  disconnect(): void
  destroy(): void
  /** Releases what the stream holds. */
  close(): void
}

/** Takes over the socket of a reply. `keepAlive` is the text of a quiet stream's sign of life. */
export function openEventStream(reply: FastifyReply, { keepAlive }: { keepAlive(): string }): EventStream {
  const { serving } = reply.server
  const response = reply.raw
  let isGone = false
  const stop = new AbortController()
  const abort = () => stop.abort()
  reply.hijack()
  response.once('close', () => {
    isGone = true
    abort()
  })
  serving.closing.addEventListener('abort', abort)
  if (serving.closing.aborted) abort()
  response.writeHead(200, { ...headersOf(reply), ...HEADERS })
  serving.streams.opened()

  let quietSince = Date.now()
  const ping = () => {
    quietSince = Date.now()
    response.write(keepAlive())
  }
  const stopLooking = serving.quietStreams.watch(() => {
    if (Date.now() - quietSince >= KEEPALIVE_MS) ping()
  })

  return {
    signal: stop.signal,
    isAbandoned: () => isGone && !response.writableFinished,
    send({ name, data }) {
      quietSince = Date.now()
      const text = `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
      return response.write(text) || response.destroyed ? undefined : waitForDrain(response)
    },
    keepAlive: ping,
    end: (text, onSent) =>
      new Promise<void>((resolve) => {
        response.once('close', resolve)
        response.end(text, () => {
          onSent?.()
          resolve()
        })
      }),
    disconnect() {
      if (!isGone) response.end(() => response.socket?.end())
    },
    destroy: () => response.destroy(),
    close() {
      stopLooking()
      serving.closing.removeEventListener('abort', abort)
      serving.streams.closed()
    },
  }
}

export type KeepAliveTimer = { watch(look: () => void): () => void }

/** One timer for all streams of a server: there may be thousands, and most have nothing to send. */
export function newKeepAliveTimer(): KeepAliveTimer {
  const looks = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  return {
    watch(look) {
      looks.add(look)
      timer ??= setInterval(() => {
        for (const one of looks) one()
      }, KEEPALIVE_CHECK_MS).unref()
      return () => {
        looks.delete(look)
        if (looks.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}

async function waitForDrain(response: ServerResponse): Promise<void> {
  const stalled = setTimeout(() => response.destroy(), STALL_MS)
  const closed = new AbortController()
  const stop = () => closed.abort()
  response.once('close', stop)
  try {
    await once(response, 'drain', { signal: closed.signal })
  } catch {
    // It was closed meanwhile: the loop that writes learns that from its own signal.
  } finally {
    clearTimeout(stalled)
    response.off('close', stop)
  }
}
