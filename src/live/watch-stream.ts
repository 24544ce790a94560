import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { StreamWatchOptions, WatchEnd } from '../ports/streams.ts'
import type { FanOut, Reader } from './fan-out.ts'
import type { StreamPoller } from './stream-poller.ts'

const PAGE = 500
/** How often a stream that is not there yet is looked for, and how often before the reader is told. */
const MISSING_MS = 100
const MAX_MISSING_CHECKS = 10

type WatchStreamDeps = StreamWatchOptions & { chunks: ChunkStore; clock: Clock; fanOut: FanOut; lookout: StreamPoller }

export async function* watchStream(
  runId: RunId,
  { after, signal, whenMissing, chunks, clock, fanOut, lookout }: WatchStreamDeps,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  // Subscribe before replaying: a chunk kept in between must not be missed.
  const reader = fanOut.subscribe(runId)
  reader.advance(after)
  lookout.start()
  let last = after
  let missing = 0
  // Live chunks are enough only once all that was kept before them has been told.
  let isJoined = false
  try {
    while (!signal.aborted) {
      const live = reader.take().filter((chunk) => chunk.number > last)
      if (reader.consumeStale() || (live[0] && live[0].number !== last + 1)) isJoined = false
      const next = live[0]?.number === last + 1 ? live : isJoined ? [] : await replay(chunks, runId, last)
      for (const chunk of next) {
        yield chunk
        last = chunk.number
        reader.advance(last)
        if (chunk.chunk.message_type === 'done') return 'done'
      }
      if (reader.isBehind()) return 'behind'
      if (next.length > 0) continue
      if (isJoined) {
        await reader.ready(signal)
        continue
      }
      // Asked for what comes after the end: nothing does.
      const head = await chunks.head(runId)
      if (head?.ended && head.last <= last) return 'done'
      missing = head ? 0 : missing + 1
      if (missing > MAX_MISSING_CHECKS) {
        if (!whenMissing) return 'missing'
        await whenMissing()
        missing = 0
      } else if (!head) await readyOrTimeout(reader, clock, signal)
      // What was written between the replay and this look is not told by anybody else.
      else isJoined = head.last <= last
    }
    return 'stopped'
  } finally {
    reader.close()
  }
}

async function readyOrTimeout(reader: Reader, clock: Clock, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  await Promise.race([reader.ready(either), clock.sleep(MISSING_MS, either)])
  over.abort('over')
}

async function replay(chunks: ChunkStore, runId: RunId, after: number): Promise<NumberedChunk[]> {
  const stored = await chunks.read(runId, after, PAGE)
  return stored.map(({ number, event, body }) => ({ number, event, chunk: JSON.parse(body) as Chunk }))
}
