import type { FastifyReply } from 'fastify'
import type { NumberedChunk } from '../../core/chunk.ts'
import type { RunId } from '../../core/id.ts'
import { type OpenedStream, openStream } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type EventStream, openEventStream } from '../event-stream.ts'
import { followRun } from '../follow-run.ts'

type RunStreaming = {
  runId: RunId
  /** Opens the view; errors are thrown before the first byte is sent. */
  open(opened: OpenedStream): Promise<StreamedView>
  /** What is sent after the last event of a run that is over. */
  last: string
}

type StreamedView = {
  /** Called for each chunk, from the first one on. */
  take(chunk: NumberedChunk): { name?: string; data: unknown }[]
  begin(): { name?: string; data: unknown }[]
  end(chunk: NumberedChunk): Promise<{ name?: string; data: unknown }[]>
}

const KEEP_ALIVE = ': still here\n\n'

/** Streams a run in the format of a view. A reader that leaves stops nothing. */
export async function streamInFormat(
  reply: FastifyReply,
  { runId, open, last }: RunStreaming,
  context: ServiceContext,
): Promise<FastifyReply> {
  const opened = await openStream(runId, context)
  const view = await open(opened)
  const stream = openEventStream(reply, { keepAlive: () => KEEP_ALIVE })
  try {
    for (const event of view.begin()) stream.send(event)
    const ending = await sendChunks({ opened, view, stream }, context)
    if (ending === 'left') stream.disconnect()
    else {
      for (const event of await view.end(ending)) stream.send(event)
      await stream.end(last)
    }
  } catch (fault) {
    context.deps.report(fault, `streaming ${runId}`)
    stream.destroy()
  } finally {
    stream.close()
  }
  return reply
}

async function sendChunks(
  { opened, view, stream }: { opened: OpenedStream; view: StreamedView; stream: EventStream },
  context: ServiceContext,
): Promise<NumberedChunk | 'left'> {
  let terminal: NumberedChunk | undefined
  const ending = await followRun(
    { opened, stream, after: 0 },
    (numbered) => {
      if (numbered.chunk.message_type === 'done') terminal = numbered
      let drained: Promise<void> | undefined
      for (const event of view.take(numbered)) drained = stream.send(event)
      return drained
    },
    context,
  )
  return ending === 'done' && terminal ? terminal : 'left'
}
