import type { FastifyReply } from 'fastify'
import type { NumberedChunk } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import type { JoinedTurn } from '../../core/steer.ts'
import { cancelRun } from '../../service/runs/runs.ts'
import { type OpenedStream, openStream } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type EventStream, openEventStream } from '../event-stream.ts'
import { followRun } from '../follow-run.ts'
import { wireDate } from '../wire-date.ts'
import { newStreamView, type StreamEvent } from './stream-view.ts'
import { ofTypes } from './wire/message.ts'

type StreamOptions = {
  /** Number of the last event the client has. */
  after?: number
  /** Where the sender's message joined the run: what the turn did before is not sent. */
  joined?: JoinedStream
  pings?: boolean
  /** `chunks` sends the stored chunks; `client`, the default, sends the events of the official client. */
  view?: 'client' | 'chunks'
  types?: readonly string[]
  compactions?: boolean
  cancelOnDisconnect?: boolean
  /** Called when the last byte is handed to the network. */
  onSent?(): void
}

/** `findMoved`: the run that the message got because the one it joined ended without reading it. */
type JoinedStream = JoinedTurn & { findMoved(): Promise<RunId | undefined> }

/** Streams a run from the client's position to its end. Errors are thrown before the first byte is sent. */
export async function streamRun(
  reply: FastifyReply,
  { runId: named, ...options }: StreamOptions & { runId: string },
  context: ServiceContext,
): Promise<void> {
  const opened = await openStream(named, context)
  let { runId } = opened
  const progress = { last: options.after ?? 0 }
  const keepAlive = () => ((options.pings ?? true) ? pingText({ runId, seq: progress.last }) : ': still here\n\n')
  const stream = openEventStream(reply, { keepAlive })
  try {
    const showing = { opened, options, stream, progress, ends: [] }
    let ending = await (options.view === 'chunks' ? showChunks(showing, context) : showEvents(showing, context))
    if (ending === 'done' && options.joined) {
      const moved = await options.joined.findMoved()
      if (moved) {
        runId = moved
        const { joined: _, ...rest } = options
        ending = await showEvents({ ...showing, opened: await openStream(moved, context), options: rest }, context)
      } else for (const event of showing.ends) await stream.send(event)
    }
    if (ending === 'done') await stream.end('data: [DONE]\n\n', options.onSent)
    // Without `[DONE]` a client knows that there is more and reconnects.
    else stream.disconnect()
  } catch (fault) {
    context.deps.report(fault, `streaming ${runId}`)
    stream.destroy()
  } finally {
    stream.close()
    if (stream.isAbandoned() && options.cancelOnDisconnect) await cancelAfterDisconnect(runId, context)
  }
}

type StreamSession = {
  opened: OpenedStream
  options: StreamOptions
  stream: EventStream
  /** Number of the last event that was sent or skipped. */
  progress: { last: number }
  /** The end of a run that a message joined: held back until it is known that it is the end for this message. */
  ends: StreamEvent[]
}

async function showEvents(
  { opened, options, stream, progress, ends }: StreamSession,
  context: ServiceContext,
): Promise<'done' | 'left'> {
  const { runId, streamTokens, continues, createdAt } = opened
  const { after = 0 } = options
  const view = newStreamView({
    runId,
    detail: streamTokens ? 'tokens' : 'steps',
    ...defined({ inherited: continues }),
    createdAt,
  })
  const isWanted = ofTypes(options.types)
  if (after === 0) stream.keepAlive()
  // Always from the first chunk, also for a resumed stream: the ids of slices depend on earlier chunks.
  let skippedEnd: StreamEvent[] = []
  const send = (numbered: NumberedChunk) => {
    const taken = view.take(numbered)
    // A client that names a number above the last one still learns how the run ended.
    const events = taken !== 'done' ? taken : numbered.number < after ? skippedEnd : []
    let drained: Promise<void> | undefined
    for (const event of hasPassed(numbered, options.joined) ? [] : events) {
      if (event.seq <= after && taken !== 'done') {
        if (event.isTerminal) skippedEnd = [...skippedEnd, event]
        continue
      }
      const shown = options.compactions && event.name === 'summary_message' ? unnamed(event) : event
      if (!shown.name && !shown.isTerminal && !isWanted(shown.data)) continue
      if (options.joined && shown.isTerminal) ends.push(shown)
      else drained = stream.send(shown)
    }
    if (numbered.number > progress.last) progress.last = numbered.number
    return drained
  }
  return followRun({ opened, stream, after: 0 }, send, context)
}

const showChunks = ({ opened, options, stream }: StreamSession, context: ServiceContext): Promise<'done' | 'left'> =>
  followRun({ opened, stream, after: options.after ?? 0 }, (numbered) => stream.send({ data: numbered }), context)

/** Whether the chunk belongs to what the turn did before the message joined it. */
function hasPassed({ event, chunk }: NumberedChunk, joined: JoinedTurn | undefined): boolean {
  if (!joined) return false
  if (event > 0 && event < joined.seq) return true
  return 'id' in chunk && chunk.id !== null && joined.passed.has(chunk.id)
}

const unnamed = ({ name: _, ...event }: StreamEvent): StreamEvent => event

function pingText({ runId, seq }: { runId: RunId; seq: number }): string {
  const data = {
    id: `ping-${crypto.randomUUID()}`,
    date: wireDate(Date.now()),
    name: null,
    message_type: 'ping',
    otid: null,
    sender_id: null,
    step_id: null,
    is_err: null,
    seq_id: seq,
    run_id: runId,
  }
  return `data: ${JSON.stringify(data)}\n\n`
}

async function cancelAfterDisconnect(runId: RunId, context: ServiceContext): Promise<void> {
  try {
    await cancelRun(runId, context)
  } catch (fault) {
    context.deps.report(fault, `cancelling ${runId} after its client disconnected`)
  }
}
