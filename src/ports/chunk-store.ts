import type { RunId } from '../core/id.ts'

/** A chunk as it is kept: `body` is its JSON, `event` the sequence number of the event it renders or 0. */
export type StoredChunk = { number: number; event: number; body: string }

export type StreamHead = {
  /** The number of the last chunk; 0 before the first. */
  last: number
  /** The highest event any chunk renders. */
  lastEvent: number
  ended: boolean
  /** True when chunks that were given out may be missing (power loss, a PostgreSQL crash). */
  mayHaveLost: boolean
}

export type FormerWriter = 'none' | 'possible'

/** The numbers of a stream come from here, never from a writer's memory. Written without fsync: kill -9 loses nothing. */
export type ChunkStore = {
  /**
   * Takes the right to write this run's stream. A fence below the current one is refused. A stream that is not there was
   * lost or never begun: `former` says whether anybody can have written it before, by default only under a lower fence.
   */
  open(runId: RunId, fence: number, former?: FormerWriter): Promise<StreamHead | 'fenced'>
  /** Numbers and keeps the chunks of all these streams in one write. Per stream: its first number, or why not. */
  append(appends: readonly ChunkAppend[]): Promise<(number | 'fenced' | 'ended')[]>
  /**
   * The next piece of an answer, kept before this returns: true, or nothing was written and `append` knows why. Missing
   * where writing means waiting.
   */
  appendSync?(piece: SyncChunkAppend): boolean
  read(runId: RunId, after: number, limit: number): Promise<StoredChunk[]>
  head(runId: RunId): Promise<StreamHead | undefined>
  /** Streams that nobody ended, for the recovery sweep. */
  unended(limit: number): Promise<RunId[]>
  /** Removes the oldest streams that ended before `endedBefore`, at most `limit`; a later reader is told they are gone. */
  prune(endedBefore: number, limit: number): Promise<number>
  close(): Promise<void>
}

/** Chunks that render no event, after the last one this writer had kept. */
export type SyncChunkAppend = { runId: RunId; fence: number; last: number; chunks: ChunkAppend['chunks'] }

export type ChunkAppend = {
  runId: RunId
  fence: number
  /**
   * The last number this writer knows of. Where the stream has another one it was lost and begun again by somebody else,
   * and nothing is written. An append that was tried before and went through is recognized by it.
   */
  last?: number
  /** The stream was never opened: nobody can have written it before, and this append makes its head. */
  isFirst?: boolean
  /** Numbers start above this; only after a loss is it above the last one. */
  floor: number
  chunks: readonly { event: number; body: string }[]
  ended: boolean
  at: number
}
