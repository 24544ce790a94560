import type { RunId } from '../core/id.ts'

/**
 * A stored chunk: `body` is JSON, `event` is the sequence number of the event it renders, or 0. `at` is in milliseconds,
 * in whole seconds.
 */
export type StoredChunk = { number: number; event: number; at?: number; body: string }

export type StreamHead = {
  /** Number of the last chunk; 0 before the first. */
  last: number
  /** Highest event sequence number that a chunk renders. */
  lastEvent: number
  ended: boolean
  /** True when numbered chunks may be missing (power loss, a PostgreSQL crash). */
  mayHaveLost: boolean
}

export type FormerWriter = 'none' | 'possible'

/** Assigns the chunk numbers of a stream; a writer never does. Written without fsync, which survives kill -9. */
export type ChunkStore = {
  /**
   * Takes the right to write this run's stream; a fence below the current one is refused. A missing stream was lost or
   * never begun: `former` says whether an earlier writer is possible, by default only if the fence is above 1.
   */
  open(runId: RunId, fence: number, former?: FormerWriter): Promise<StreamHead | 'fenced'>
  /**
   * Numbers and stores the chunks of several streams in one write. Returns the first number of each, or the refusal.
   */
  append(appends: readonly ChunkAppend[]): Promise<(number | 'fenced' | 'ended')[]>
  /**
   * Stores the next chunks of an answer synchronously. False: nothing was written, and `append` reports why. Absent
   * where writing is asynchronous.
   */
  appendSync?(append: SyncChunkAppend): boolean
  read(runId: RunId, after: number, limit: number): Promise<StoredChunk[]>
  head(runId: RunId): Promise<StreamHead | undefined>
  /** Streams without an end, for the recovery sweep. */
  unended(limit: number): Promise<RunId[]>
  /**
   * Removes up to `limit` of the oldest streams that ended before `endedBefore`. `Streams.isGone` reports them as
   * pruned.
   */
  prune(endedBefore: number, limit: number): Promise<number>
  /** Removes these streams for good. */
  erase(runIds: readonly RunId[]): Promise<void>
  /** Runs with a stream, in order of their ids. */
  runsAfter(after: string, limit: number): Promise<RunId[]>
  close(): Promise<void>
}

/** Chunks that render no event, directly after `last`, the last chunk this writer stored. */
export type SyncChunkAppend = { runId: RunId; fence: number; last: number; chunks: ChunkAppend['chunks'] }

export type ChunkAppend = {
  runId: RunId
  fence: number
  /**
   * Last chunk number this writer knows. If the stream has another one, it was lost and begun again by another writer,
   * and nothing is written. Also identifies a retried append that was already written.
   */
  last?: number
  /** The stream was never opened and has no earlier writer: this append creates its head. */
  isFirst?: boolean
  /** Numbers start above this. It exceeds the last number only after a loss. */
  floor: number
  chunks: readonly { event: number; at?: number; body: string }[]
  ended: boolean
  at: number
}
