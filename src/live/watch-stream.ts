import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { WatchEnd } from '../ports/streams.ts'
import type { FanOut } from './fan-out.ts'

const PAGE = 500
/** How often the store is asked when nothing comes by itself: the writer may be another process. */
const POLL_MS = 100
/** So often a stream may not be there before the reader is told: by then a live run has begun its own. */
const MISSING_POLLS = 10

type Parts = { after: number; signal: AbortSignal; chunks: ChunkStore; clock: Clock; fanOut: FanOut }

export async function* watchStream(
  runId: RunId,
  { after, signal, chunks, clock, fanOut }: Parts,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  // Subscribe before replaying: a chunk kept in between must not be missed.
  const reader = fanOut.subscribe(runId)
  let last = after
  let missing = 0
  try {
    while (!signal.aborted) {
      const live = reader.take().filter((chunk) => chunk.number > last)
      const isNext = live[0] !== undefined && live[0].number === last + 1
      // Live chunks are taken as they are only where they join on; otherwise the store has what lies between.
      const next = isNext ? live : await replay(chunks, runId, last)
      for (const chunk of next) {
        yield chunk
        last = chunk.number
        if (chunk.chunk.message_type === 'done') return 'done'
      }
      if (reader.isBehind()) return 'behind'
      if (next.length > 0) continue
      // Asked for what comes after the end: nothing does.
      const head = await chunks.head(runId)
      if (head?.ended && head.last <= last) return 'done'
      missing = head ? 0 : missing + 1
      if (missing > MISSING_POLLS) return 'missing'
      await firstOf(reader, clock, signal)
    }
    return 'stopped'
  } finally {
    reader.close()
  }
}

async function replay(chunks: ChunkStore, runId: RunId, after: number): Promise<NumberedChunk[]> {
  const stored = await chunks.read(runId, after, PAGE)
  return stored.map(({ number, event, body }) => ({ number, event, chunk: JSON.parse(body) as Chunk }))
}

async function firstOf(reader: ReturnType<FanOut['subscribe']>, clock: Clock, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  await Promise.race([reader.ready(either), clock.sleep(POLL_MS, either)])
  over.abort('over')
}
