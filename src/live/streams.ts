import { untilAborted } from '../core/abort.ts'
import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import { defined } from '../core/defined.ts'
import type { RunId } from '../core/id.ts'
import type { ChunkAppend, ChunkStore, StreamHead } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { FoundStream, RunStream, RunStreamOptions, Streams } from '../ports/streams.ts'
import { newFanOut } from './fan-out.ts'
import { newStreamPoller } from './stream-poller.ts'
import { watchStream } from './watch-stream.ts'

/** Chunks of a stream without subscribers are buffered this long before they are written. */
const UNWATCHED_DELAY_MS = 250
const RETRY_MS = 250
const TAIL_PAGE = 500
/** A watched delta is written at once unless another was written within this time: bursts share a write. */
const BURST_MS = 1
/** Streams removed in one write, so that pruning months of streams does not block the heartbeat. */
const PRUNE_SLICE = 50
const PRUNE_PAUSE_MS = 20
/** Streams whose runs are looked up at once. */
const UNKNOWN_PAGE = 100

type StreamWriter = RunStreamOptions & {
  runId: RunId
  /** The last number that the store assigned. */
  last: number
  /** The last number it will assign once the buffered chunks are stored. */
  written: number
  /** After a loss: numbers up to this may have been assigned, so new ones start above it. */
  floor: number
  /** Whether the store has the head of the stream; false only at the start of a stream without a former writer. */
  isBegun: boolean
  state: 'open' | 'ended' | 'fenced'
}
type PendingChunks = {
  writer: StreamWriter
  chunks: { event: number; at: number; body: string; chunk: Chunk }[]
  ended: boolean
  /** To be written now: a subscriber or a settling turn waits for it, or its delay is over. */
  isDue: boolean
}

type StreamsOptions = {
  chunks: ChunkStore
  clock: Clock
  report(fault: unknown, where: string): void
  /** How long a stream can be read after its end; absent: forever. */
  keptMs?: number
}

/**
 * The chunk log and its fan-out. A chunk is stored before any subscriber sees it; all streams share one write. No state
 * outlives a run except in the store.
 */
export function newStreams({ chunks, clock, report, keptMs = Number.POSITIVE_INFINITY }: StreamsOptions): Streams {
  const fanOut = newFanOut()
  const poller = newStreamPoller({ fanOut, chunks, clock, report })
  // By writer and not by run: two writers that finish the same stream at once must not share an append.
  const pending = new Map<StreamWriter, PendingChunks>()
  let flushing: Promise<void> | undefined
  let nextFlush: Promise<void> | undefined
  let isScheduled = false
  let isClosing = false
  let wroteAtOnceAt = Number.NEGATIVE_INFINITY

  function write(writer: StreamWriter, added: readonly Chunk[], event: number, saidAt = clock.now()) {
    if (writer.state !== 'open' || added.length === 0) return
    if (event === 0 && fanOut.isWatched(writer.runId) && writeAtOnce(writer, added, saidAt)) return
    const at = secondOf(saidAt)
    const buffered = pendingOf(writer)
    for (const chunk of added) {
      buffered.chunks.push({ event, at, body: encodeChunk(chunk), chunk })
      writer.written++
      if (chunk.message_type === 'done') {
        buffered.ended = true
        writer.state = 'ended'
      }
    }
    scheduleFlush(buffered)
  }

  /** For a watched stream: writes a single delta synchronously and publishes it without waiting for a shared write. */
  function writeAtOnce(writer: StreamWriter, added: readonly Chunk[], saidAt: number): boolean {
    const { runId, fence, last, floor, bound } = writer
    const now = clock.monotonic()
    if (!chunks.appendSync || now - wroteAtOnceAt < BURST_MS || flushing || pending.has(writer)) return false
    if (!writer.isBegun || last < floor || last + added.length > bound || !added.every(isDeltaChunk)) return false
    wroteAtOnceAt = now
    const at = secondOf(saidAt)
    const encoded = added.map((chunk) => ({ event: 0, at, body: encodeChunk(chunk) }))
    try {
      if (!chunks.appendSync({ runId, fence, last, chunks: encoded })) return false
    } catch (fault) {
      // The buffered write meets the same fault and retries.
      if (fault instanceof StorageError) return false
      throw fault
    }
    writer.last += added.length
    writer.written = writer.last
    publish(
      writer,
      added.map((chunk, index): NumberedChunk => ({ number: last + 1 + index, event: 0, at, chunk })),
    )
    return true
  }

  function publish({ runId }: StreamWriter, numbered: NumberedChunk[]): void {
    fanOut.publish(runId, numbered)
    poller.markLocal(runId)
  }

  function pendingOf(writer: StreamWriter): PendingChunks {
    const buffered = pending.get(writer) ?? { writer, chunks: [], ended: false, isDue: false }
    pending.set(writer, buffered)
    return buffered
  }

  function scheduleFlush(buffered: PendingChunks) {
    if (!fanOut.isWatched(buffered.writer.runId)) return flushLater()
    buffered.isDue = true
    flushSoon()
  }

  function flushLater() {
    if (isScheduled) return
    isScheduled = true
    void clock.sleep(UNWATCHED_DELAY_MS).then(() => {
      isScheduled = false
      flushAll().catch((fault) => report(fault, 'writing the chunk log'))
    })
  }

  function flushAll(): Promise<void> {
    for (const buffered of pending.values()) buffered.isDue = true
    return flushDue()
  }

  /** Not awaited; a turn that waits for its chunks meets the same fault in `settle`. */
  function flushSoon() {
    flushDue().catch((fault) => report(fault, 'writing the chunk log'))
  }

  /** One write at a time; chunks that arrive meanwhile, or in the same tick, share the next one. */
  function flushDue(): Promise<void> {
    nextFlush ??= (async () => {
      await new Promise<void>((resolve) => clock.soon(resolve))
      while (flushing) await flushing
      nextFlush = undefined
      // Other chunks stay buffered: one row for a long text costs less than ten for its parts.
      const batch = [...pending.values()].filter((buffered) => buffered.isDue)
      if (batch.length === 0) return
      for (const { writer } of batch) pending.delete(writer)
      flushing = writeBatch(batch).finally(() => {
        flushing = undefined
      })
      await flushing
    })()
    return nextFlush
  }

  async function writeBatch(batch: PendingChunks[]): Promise<void> {
    for (const { writer, chunks: buffered } of batch) await makeRoom(writer, buffered.length)
    const appends = batch.map(({ writer, chunks: buffered, ended }): ChunkAppend => {
      const { runId, fence, last, floor, isBegun } = writer
      return { runId, fence, last, floor, isFirst: !isBegun, chunks: buffered, ended, at: clock.now() }
    })
    const firsts = await appendWithRetry(appends)
    for (const [index, { writer, chunks: buffered }] of batch.entries()) {
      const first = firsts[index]!
      if (typeof first !== 'number') {
        writer.state = first === 'ended' ? 'ended' : 'fenced'
        continue
      }
      writer.isBegun = true
      writer.last = first + buffered.length - 1
      if (!fanOut.isWatched(writer.runId)) continue
      publish(
        writer,
        buffered.map(({ event, at, chunk }, offset): NumberedChunk => ({ number: first + offset, event, at, chunk })),
      )
    }
  }

  function isPending(runId: RunId): boolean {
    for (const writer of pending.keys()) if (writer.runId === runId) return true
    return false
  }

  async function makeRoom(writer: StreamWriter, count: number): Promise<void> {
    while (writer.state !== 'fenced' && Math.max(writer.last, writer.floor) + count > writer.bound) {
      const raised = await writer.raiseBound()
      if (raised === undefined) writer.state = 'fenced'
      else writer.bound = raised
    }
  }

  async function appendWithRetry(appends: ChunkAppend[]) {
    for (;;) {
      try {
        return await chunks.append(appends)
      } catch (fault) {
        if (!(fault instanceof StorageError) || !fault.isTransient || isClosing) throw fault
        await clock.sleep(RETRY_MS)
      }
    }
  }

  async function open(runId: RunId, options: RunStreamOptions): Promise<RunStream | 'fenced'> {
    const { fence, former = fence > 1 ? 'possible' : 'none' } = options
    // The former writer may be in this process: its buffered chunks must be written before the head is read.
    if (former === 'possible' && isPending(runId)) await untilAborted(flushAll(), options.signal)
    const head = former === 'none' ? EMPTY_HEAD : await chunks.open(runId, fence, former)
    if (head === 'fenced') return 'fenced'
    const { last, ended, mayHaveLost } = head
    const state = ended ? 'ended' : 'open'
    const floor = mayHaveLost ? options.bound : 0
    const isBegun = head !== EMPTY_HEAD
    const writer: StreamWriter = { ...options, runId, last, written: Math.max(last, floor), floor, isBegun, state }
    // The head waits for the next write, soon enough for a subscriber in another process.
    if (!isBegun) scheduleFlush(pendingOf(writer))
    const partial = last > 0 && !ended ? await partialText(chunks, runId, last) : undefined
    const found: FoundStream = {
      last,
      ended,
      mayHaveLost,
      lastEvent: head.lastEvent,
      ...defined({ partial }),
    }
    return {
      found,
      write: (added, event, at) => write(writer, added, event, at),
      async settle() {
        if (!fanOut.isWatched(runId)) return writer.written
        const buffered = pending.get(writer)
        if (buffered) buffered.isDue = true
        if (buffered || flushing) await untilAborted(flushDue(), options.signal)
        return writer.last
      },
      async begin() {
        while (!writer.isBegun && writer.state !== 'fenced' && !options.signal?.aborted) {
          if (!flushing || pending.has(writer)) pendingOf(writer).isDue = true
          await untilAborted(flushDue(), options.signal)
        }
      },
    }
  }

  async function erase(runIds: readonly RunId[]): Promise<void> {
    if (runIds.length > 0) await chunks.erase(runIds)
  }

  return {
    open,
    erase,
    async eraseUnknown(unknownOf) {
      let after = ''
      for (let page = await chunks.runsAfter(after, UNKNOWN_PAGE); page.length > 0 && !isClosing; ) {
        await erase(await unknownOf(page))
        after = page.at(-1)!
        // The pause lets other writers in.
        await clock.sleep(PRUNE_PAUSE_MS)
        page = await chunks.runsAfter(after, UNKNOWN_PAGE)
      }
    },
    watch(runId, options) {
      // Chunks buffered while there was no subscriber are due now.
      flushAll().catch((fault) => report(fault, 'writing the chunk log'))
      return watchStream(runId, { ...options, chunks, clock, fanOut, poller })
    },
    unended: async (limit) => (await chunks.unended(limit)).filter((runId) => !isPending(runId)),
    async flush() {
      while (pending.size > 0 || flushing) await flushAll()
    },
    async close() {
      isClosing = true
      await flushAll().catch((fault) => report(fault, 'writing the chunk log'))
    },
    async isGone({ id, createdAt, completedAt = createdAt }) {
      return completedAt < clock.now() - keptMs && (await chunks.head(id)) === undefined
    },
    async prune() {
      if (keptMs === Number.POSITIVE_INFINITY) return 0
      const endedBefore = clock.now() - keptMs
      let pruned = 0
      for (let slice = PRUNE_SLICE; slice === PRUNE_SLICE && !isClosing; ) {
        slice = await chunks.prune(endedBefore, PRUNE_SLICE)
        pruned += slice
        // The pause lets other writers in.
        await clock.sleep(PRUNE_PAUSE_MS)
      }
      return pruned
    },
  }
}

/** Dates of the API have whole seconds; a stored second is repeated less often than a millisecond. */
const secondOf = (at: number): number => Math.floor(at / 1_000) * 1_000

/** The head of a stream that cannot have been written before. */
const EMPTY_HEAD: StreamHead = { last: 0, lastEvent: 0, ended: false, mayHaveLost: false }

type DeltaChunk = Extract<Chunk, { message_type: 'assistant_message' | 'reasoning_message' | 'tool_call_delta' }>

const isDeltaChunk = (chunk: Chunk): chunk is DeltaChunk => DELTAS.has(chunk.message_type)

const DELTAS: ReadonlySet<Chunk['message_type']> = new Set([
  'assistant_message',
  'reasoning_message',
  'tool_call_delta',
])

/** Most chunks are text deltas: they are encoded by hand, for a third of the cost. */
function encodeChunk(chunk: Chunk): string {
  if (chunk.message_type !== 'assistant_message') return JSON.stringify(chunk)
  return `{"message_type":"assistant_message","id":"${chunk.id}","content":${JSON.stringify(chunk.content)}}`
}

/** The partial answer at the end of a stream: deltas of one message that belong to no event yet. */
async function partialText(chunks: ChunkStore, runId: RunId, last: number): Promise<FoundStream['partial']> {
  let found: FoundStream['partial']
  for (let before = last; before > 0; before -= TAIL_PAGE) {
    const page = await chunks.read(runId, Math.max(0, before - TAIL_PAGE), Math.min(TAIL_PAGE, before))
    for (const { event, body } of page.reverse()) {
      const chunk = event === 0 ? (JSON.parse(body) as Chunk) : undefined
      if (!chunk || !isDeltaChunk(chunk) || (found && found.id !== chunk.id)) return found
      found ??= { id: chunk.id, text: '', reasoning: '', calls: new Map() }
      prepend(found, chunk)
    }
  }
  return found
}

function prepend(partial: NonNullable<FoundStream['partial']>, chunk: DeltaChunk): void {
  switch (chunk.message_type) {
    case 'assistant_message':
      partial.text = chunk.content + partial.text
      return
    case 'reasoning_message':
      partial.reasoning = chunk.reasoning + partial.reasoning
      return
    case 'tool_call_delta': {
      const { tool_call_id: callId, arguments: text } = chunk
      partial.calls.set(callId, text + (partial.calls.get(callId) ?? ''))
    }
  }
}
