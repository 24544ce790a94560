import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { RunId } from '../../core/id.ts'
import type { Desk } from '../../service/desk.ts'
import { cancelRun } from '../../service/runs/runs.ts'
import { type OpenedStream, openStream, watchOpened } from '../../service/runs/watch-run.ts'
import { newStreamView, type StreamEvent } from './stream-view.ts'
import { ofTypes, wireDate } from './wire/message.ts'

export type StreamWishes = {
  /** What the client has seen. */
  after?: number
  pings?: boolean
  /** `chunks` tells the log as it is kept, for readers that know our words; usually it is told in the client's. */
  view?: 'client' | 'chunks'
  types?: readonly string[]
  compactions?: boolean
  cancelOnDisconnect?: boolean
  /** When the last byte was handed to the network. */
  onSent?(): void
}

const KEEPALIVE_MS = 20_000
const LOOK_MS = 5_000
/** A reader that takes nothing for so long is gone; it may come back and go on where it was. */
const STALL_MS = 30_000

/** Tells a run as server-sent events, from where the client is to its end. Refusals come before the first byte. */
export async function streamRun(
  reply: FastifyReply,
  { runId, ...wishes }: StreamWishes & { runId: string },
  desk: Desk,
): Promise<void> {
  const opened = await openStream(runId, desk)
  const { serving } = reply.server
  reply.hijack()
  const response = reply.raw
  let isGone = false
  const stop = new AbortController()
  const leave = () => stop.abort()
  response.once('close', () => {
    isGone = true
    leave()
  })
  serving.closing.addEventListener('abort', leave)
  if (serving.closing.aborted) leave()
  response.writeHead(200, { ...headersOf(reply), ...STREAM_HEADERS })
  serving.streams.opened()
  const line = newLine(response, { runId: opened.runId, pings: wishes.pings ?? true, after: wishes.after ?? 0 })
  try {
    const telling = { opened, wishes, line, signal: stop.signal }
    const ending = await (wishes.view === 'chunks' ? tellChunks(telling, desk) : tell(telling, desk))
    if (ending === 'done') await line.end('data: [DONE]\n\n', wishes.onSent)
    // Without the last word: whoever reads knows that there is more, and asks for it.
    else if (!isGone) response.end(() => response.socket?.end())
  } catch (fault) {
    desk.world.report(fault, `stream of ${runId}`)
    response.destroy()
  } finally {
    line.stop()
    serving.closing.removeEventListener('abort', leave)
    serving.streams.closed()
    if (isGone && !response.writableFinished && wishes.cancelOnDisconnect) await cancel(opened.runId, desk)
  }
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}

type Telling = {
  opened: OpenedStream
  wishes: StreamWishes
  line: Line
  signal: AbortSignal
}

async function tell({ opened, wishes, line, signal }: Telling, desk: Desk): Promise<'done' | 'left'> {
  const { runId, streamTokens, continues } = opened
  const { after = 0 } = wishes
  const view = newStreamView({
    runId,
    detail: streamTokens ? 'tokens' : 'steps',
    ...(continues ? { inherited: continues } : {}),
    now: () => desk.world.clock.now(),
  })
  const isWanted = ofTypes(wishes.types)
  if (after === 0) line.ping()
  // From the beginning, whatever was seen: the names of slices follow from what came before them.
  for await (const numbered of await watchOpened(opened, { after: 0, signal }, desk)) {
    const events = view.take(numbered)
    if (events === 'done') return 'done'
    for (const event of events) {
      if (event.seq <= after && !event.isTerminal) continue
      const shown = wishes.compactions && event.name === 'summary_message' ? unnamed(event) : event
      if (!shown.name && !shown.isTerminal && !isWanted(shown.data)) continue
      const drained = line.say(shown)
      if (drained) await drained
    }
    line.reached(numbered.number)
  }
  return 'left'
}

async function tellChunks({ opened, wishes, line, signal }: Telling, desk: Desk): Promise<'done' | 'left'> {
  const chunks = await watchOpened(opened, { after: wishes.after ?? 0, signal }, desk)
  try {
    for (;;) {
      const next = await chunks.next()
      if (next.done) return next.value === 'done' ? 'done' : 'left'
      await line.say({ data: next.value })
    }
  } finally {
    await chunks.return('stopped')
  }
}

const unnamed = ({ name: _, ...event }: StreamEvent): StreamEvent => event

type Line = ReturnType<typeof newLine>

function newLine(response: ServerResponse, options: { runId: RunId; pings: boolean; after: number }) {
  let last = options.after
  let quietSince = Date.now()
  const stop = everyLook(() => {
    if (Date.now() - quietSince >= KEEPALIVE_MS) ping()
  })

  function ping(): void {
    quietSince = Date.now()
    if (options.pings) response.write(pingText({ runId: options.runId, seq: last }))
    else response.write(': still here\n\n')
  }

  return {
    ping,
    reached(number: number) {
      if (number > last) last = number
    },
    /** Nothing to wait for, unless its reader is slow. */
    say({ name, data }: { name?: string; data: unknown }): Promise<void> | undefined {
      quietSince = Date.now()
      const text = `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
      return response.write(text) || response.destroyed ? undefined : drained(response)
    },
    end: (text: string, onSent: (() => void) | undefined) =>
      new Promise<void>((resolve) => {
        response.once('close', resolve)
        response.end(text, () => {
          onSent?.()
          resolve()
        })
      }),
    stop,
  }
}

const looks = new Set<() => void>()
let looking: NodeJS.Timeout | undefined

/** One timer for all lines: there may be thousands, and most have nothing to say. */
function everyLook(look: () => void): () => void {
  looks.add(look)
  looking ??= setInterval(() => {
    for (const one of looks) one()
  }, LOOK_MS).unref()
  return () => {
    looks.delete(look)
    if (looks.size > 0) return
    clearInterval(looking)
    looking = undefined
  }
}

async function drained(response: ServerResponse): Promise<void> {
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

function pingText({ runId, seq }: { runId: RunId; seq: number }): string {
  const data = {
    ...{ id: `ping-${crypto.randomUUID()}`, date: wireDate(Date.now()), name: null, message_type: 'ping', otid: null },
    ...{ sender_id: null, step_id: null, is_err: null, seq_id: seq, run_id: runId },
  }
  return `data: ${JSON.stringify(data)}\n\n`
}

async function cancel(runId: RunId, desk: Desk): Promise<void> {
  try {
    await cancelRun(runId, desk)
  } catch (fault) {
    desk.world.report(fault, `cancelling ${runId} after its reader left`)
  }
}
