import type { Chunk, NumberedChunk } from '../core/chunk.ts'
import type { MessageId, RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { FormerWriter } from './chunk-store.ts'

/** Writer of a run's live stream. `write` never waits; `settle` does. */
export type RunStream = {
  /** `at` is when the chunks were said; by default now. */
  write(chunks: readonly Chunk[], event: number, at?: number): void
  /**
   * Resolves with the last chunk number when every chunk that a reader may have seen is stored. Unseen chunks may be
   * lost with this process: the next worker compares the stream with the log and writes the rest.
   */
  settle(): Promise<number>
  /**
   * Resolves when the head of the stream is stored. A run may end only after this, so that the recovery sweep finds the
   * stream of a writer that died.
   */
  begin(): Promise<void>
  /** State of the stream that an earlier writer left. */
  readonly found: FoundStream
}

export type FoundStream = {
  last: number
  lastEvent: number
  ended: boolean
  /** The message that the earlier writer was streaming, and the part of it in the stream; `calls` has the arguments by call id. */
  partial?: { id: MessageId; text: string; reasoning: string; calls: Map<string, string> }
  mayHaveLost: boolean
}

export type RunStreamOptions = {
  fence: number
  /** Whether an earlier writer is possible; by default only if the fence is above 1. */
  former?: FormerWriter
  /** Highest chunk number that may be assigned… */
  bound: number
  /** …until this returns a higher one. Undefined: the lease is lost. */
  raiseBound(): Promise<number | undefined>
  /** Aborted when the writer gives up waiting for a chunk log that cannot be written. */
  signal?: AbortSignal
}

export type Streams = {
  open(runId: RunId, options: RunStreamOptions): Promise<RunStream | 'fenced'>
  /**
   * Replays the chunks after number `after` and then follows live ones, up to and including `done`. A reader that falls
   * behind reads on from the stored chunks and misses none.
   */
  watch(runId: RunId, options: StreamWatchOptions): AsyncGenerator<NumberedChunk, WatchEnd>
  /** Runs whose stream has no end and that no writer of this process is about to end. */
  unended(limit: number): Promise<RunId[]>
  /** Resolves when every chunk written by this process is stored. */
  flush(): Promise<void>
  /** Like `flush`, but tries once, for shutdown: the next process writes the chunks that are not stored. */
  close(): Promise<void>
  /**
   * Whether the stream of this run was pruned. A stream that is missing before its retention ends was lost, and is
   * written again from the log.
   */
  isGone(run: Pick<Run, 'id' | 'createdAt' | 'completedAt'>): Promise<boolean>
  /** Removes streams whose retention has ended; returns how many. */
  prune(): Promise<number>
  /** Removes the streams of deleted runs. */
  erase(runIds: readonly RunId[]): Promise<void>
  /** Removes the streams of runs that do not exist, which a crash after a deletion has left. */
  eraseUnknown(unknownOf: (ids: readonly RunId[]) => Promise<RunId[]>): Promise<void>
}

export type StreamWatchOptions = {
  after: number
  signal: AbortSignal
  /**
   * Called when the stream is still missing after many polls, to create it. Without it the reader ends with `missing`.
   */
  whenMissing?(): Promise<void>
}

/** `missing`: there is no stream, because it is not begun yet or was lost. */
export type WatchEnd = 'done' | 'stopped' | 'missing'
