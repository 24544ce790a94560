import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { StreamWatchOptions, WatchEnd } from '../ports/streams.ts'
import type { FanOut, Reader } from './fan-out.ts'
import type { StreamPoller } from './stream-poller.ts'

const PAGE = 500
/** Interval and maximum number of checks for a stream that does not exist yet. */
const MISSING_CHECK_MS = 100
const MAX_MISSING_CHECKS = 10

type WatchStreamDeps = StreamWatchOptions & { chunks: ChunkStore; clock: Clock; fanOut: FanOut; poller: StreamPoller }

export async function* watchStream(
  runId: RunId,
  { after, signal, whenMissing, chunks, clock, fanOut, poller }: WatchStreamDeps,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  // Subscribe before replaying: a chunk stored in between must not be missed.
  const reader = fanOut.subscribe(runId)
  reader.advance(after)
  poller.start()
  let last = after
  let missing = 0
  // True once every stored chunk is replayed: from then on live chunks are enough.
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
      if (next.length > 0) continue
      if (isJoined) {
        await reader.ready(signal)
        continue
      }
      const head = await chunks.head(runId)
      if (head?.ended && head.last <= last) return 'done'
      missing = head ? 0 : missing + 1
      if (missing > MAX_MISSING_CHECKS) {
        if (!whenMissing) return 'missing'
        await whenMissing()
        missing = 0
      } else if (!head) await readyOrTimeout(reader, clock, signal)
      // Chunks written between the replay and this check need another replay.
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
  await Promise.race([reader.ready(either), clock.sleep(MISSING_CHECK_MS, either)])
  over.abort('over')
}

async function replay(chunks: ChunkStore, runId: RunId, after: number): Promise<NumberedChunk[]> {
  const stored = await chunks.read(runId, after, PAGE)
  return stored.map(({ body, ...position }) => ({ ...position, chunk: JSON.parse(body) as Chunk }))
}
