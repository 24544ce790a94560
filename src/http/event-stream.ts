import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

const KEEPALIVE_MS = 20_000
const KEEPALIVE_CHECK_MS = 5_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
}

/** Server-sent events to one reader. */
export type EventStream = {
  /** Aborted when the reader disconnects or the server closes. */
  signal: AbortSignal
  /** Whether the reader disconnected before the end of the stream. */
  isAbandoned(): boolean
  /** Writes an event. Returns a promise to wait for only if the reader is slow. */
  send(event: { name?: string; data: unknown }): Promise<void> | undefined
  /** Writes the keep-alive text now. */
  keepAlive(): void
  /** Writes the last text and ends; calls `onSent` when the last byte is handed to the network. */
  end(text: string, onSent?: () => void): Promise<void>
  /** Ends without `[DONE]`, so that the reader reconnects for the rest. */
  disconnect(): void
  destroy(): void
  /** Releases the timer and the listeners of the stream. */
  close(): void
}

/** Takes over the socket of a reply. `keepAlive` returns the text to send while the stream is idle. */
export function openEventStream(reply: FastifyReply, { keepAlive }: { keepAlive(): string }): EventStream {
  const { serverContext } = reply.server
  const { stalledMs } = serverContext
  const { inFlight } = reply.request
  const response = reply.raw
  // The body of the request was read; the stream may last for hours.
  inFlight.release()
  let isGone = false
  const stop = new AbortController()
  const abort = () => stop.abort()
  reply.hijack()
  response.once('close', () => {
    isGone = true
    abort()
  })
  serverContext.closing.addEventListener('abort', abort)
  if (serverContext.closing.aborted) abort()
  response.writeHead(200, { ...headersOf(reply), ...HEADERS })
  serverContext.streams.opened()

  let quietSince = Date.now()
  const ping = () => {
    quietSince = Date.now()
    response.write(keepAlive())
  }
  let fullSince: number | undefined
  const stopTimer = serverContext.keepAliveTimer.watch(() => {
    fullSince = response.writableNeedDrain ? (fullSince ?? Date.now()) : undefined
    if (fullSince !== undefined) {
      if (Date.now() - fullSince >= stalledMs) response.destroy()
      return
    }
    if (Date.now() - quietSince >= KEEPALIVE_MS) ping()
  })

  return {
    signal: stop.signal,
    isAbandoned: () => isGone && !response.writableFinished,
    send({ name, data }) {
      quietSince = Date.now()
      const text = `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
      // A caller with too many unread bytes reconnects for the rest of this stream.
      if (inFlight.refusal()) response.destroy()
      if (response.write(text) || response.destroyed) return undefined
      inFlight.hold(text.length)
      return waitForDrain(response, stalledMs).finally(() => inFlight.release())
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
      stopTimer()
      serverContext.closing.removeEventListener('abort', abort)
      serverContext.streams.closed()
    },
  }
}

/** Whether the socket drains within the time; the reader may have disconnected instead. */
export async function isDrainedWithin(drained: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([drained.then(() => true), tooLate])
  } finally {
    clearTimeout(timer)
  }
}

export type KeepAliveTimer = { watch(check: () => void): () => void }

/** One keep-alive timer for all streams of a server: there may be thousands of idle ones. */
export function newKeepAliveTimer(): KeepAliveTimer {
  const checks = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  return {
    watch(check) {
      checks.add(check)
      timer ??= setInterval(() => {
        for (const one of checks) one()
      }, KEEPALIVE_CHECK_MS).unref()
      return () => {
        checks.delete(check)
        if (checks.size > 0) return
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

/** A reader that takes nothing for this long is disconnected; it can reconnect and resume where it was. */
async function waitForDrain(response: ServerResponse, stalledMs: number): Promise<void> {
  const stalled = setTimeout(() => response.destroy(), stalledMs)
  const closed = new AbortController()
  const stop = () => closed.abort()
  response.once('close', stop)
  try {
    await once(response, 'drain', { signal: closed.signal })
  } catch {
    // The response was closed meanwhile; the writing loop sees that through its signal.
  } finally {
    clearTimeout(stalled)
    response.off('close', stop)
  }
}
