import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import type { MessageId, RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { FormerWriter } from './chunk-store.ts'

/** A run's live stream as its turn writes it. Writing never waits; `settle` does. */
export type RunStream = {
  write(chunks: readonly Chunk[], event: number): void
  /**
   * Resolves when everything written so far that anybody may have seen is kept; answers with the number of the last
   * chunk. What nobody has seen may be lost with this process: whoever goes on finds less in the stream than the log
   * says, and tells the rest.
   */
  settle(): Promise<number>
  /**
   * Resolves when the stream can be found by its head. The end of a run is written only after this, so that the sweep
   * ends the stream of a writer that died.
   */
  begin(): Promise<void>
  /** What a former writer left. */
  readonly found: FoundStream
}

export type FoundStream = {
  last: number
  lastEvent: number
  ended: boolean
  /** The message that was being streamed when the former writer stopped, and what the stream holds of it. */
  partial?: { id: MessageId; text: string; reasoning: string }
  mayHaveLost: boolean
}

export type RunStreamOptions = {
  fence: number
  /** Whether anybody can have written this stream before; by default only under a lower fence. */
  former?: FormerWriter
  /** No number above this may be given out… */
  bound: number
  /** …until this answers with a higher one. Undefined: the lease is lost. */
  raiseBound(): Promise<number | undefined>
  /** Aborted when the writer gives up: it no longer waits for a chunk log that cannot be written. */
  signal?: AbortSignal
}

export type Streams = {
  open(runId: RunId, options: RunStreamOptions): Promise<RunStream | 'fenced'>
  /**
   * The chunks after number `after`, replayed and then live, up to and including `done`. A reader that falls behind by
   * more than a bound is ended with `behind` and may come back with the last number it saw.
   */
  watch(runId: RunId, options: StreamWatchOptions): AsyncGenerator<NumberedChunk, WatchEnd>
  /** Runs whose stream nobody ended or is about to end here. */
  unended(limit: number): Promise<RunId[]>
  /** Resolves when everything written here so far is kept. */
  flush(): Promise<void>
  /** The same before the end of the process, but only tried once: what is not kept, the next process tells again. */
  close(): Promise<void>
  /** Whether the stream of this run was pruned. One that is missing earlier was lost, and is told again from the log. */
  isGone(run: Pick<Run, 'id' | 'createdAt' | 'completedAt'>): Promise<boolean>
  /** Removes what ended longer ago than streams are kept; answers with how many. */
  prune(): Promise<number>
}

export type StreamWatchOptions = {
  after: number
  signal: AbortSignal
  /** Called when there is no stream after many looks, to see to it that there is one; without it the reader is told. */
  whenMissing?(): Promise<void>
}

/** `missing`: there is no stream, because none was begun yet or because it was lost. */
export type WatchEnd = 'done' | 'behind' | 'stopped' | 'missing'
