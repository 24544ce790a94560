import type { NumberedChunk } from '../core/chunk.ts'
import { type OpenedStream, watchOpened } from '../service/runs/watch-run.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { type EventStream, isDrainedWithin } from './event-stream.ts'

/** How long a full socket may keep its subscription and the chunks that were read for it. */
const FULL_SOCKET_MS = 100

type FollowedStream = { opened: OpenedStream; stream: EventStream; after: number }

/**
 * Passes each chunk after `after` to `send`, up to the end. A reader whose socket stays full costs no more than the
 * buffers of the socket: its subscription is closed, and when the socket drains the stored chunks are read on.
 */
export async function followRun(
  { opened, stream, after }: FollowedStream,
  send: (numbered: NumberedChunk) => Promise<void> | undefined,
  context: ServiceContext,
): Promise<'done' | 'left'> {
  let last = after
  for (let { hasEnded } = opened; ; hasEnded = false) {
    const from = { after: last, signal: stream.signal }
    const chunks = await watchOpened({ runId: opened.runId, hasEnded }, from, context)
    let drained: Promise<void> | undefined
    try {
      for (let isFull = false; !isFull; ) {
        const next = await chunks.next()
        if (next.done) return next.value === 'done' ? 'done' : 'left'
        drained = send(next.value)
        last = next.value.number
        isFull = drained !== undefined && !(await isDrainedWithin(drained, FULL_SOCKET_MS))
      }
    } finally {
      await chunks.return('stopped')
    }
    await drained
  }
}
