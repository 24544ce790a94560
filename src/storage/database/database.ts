import type { Dialect } from './dialect.ts'
import type { Awaitable, Executor } from './statement.ts'

export type Work<T> = (db: Executor) => Awaitable<T>

/** The work of one write. It may run more than once, but commits at most once. */
export type Job<T> = {
  /** Jobs of one commit run in order of their keys, so that all processes lock rows in the same order. */
  key: string
  work: Work<T>
  /**
   * After a commit of unknown outcome: waits until the outcome is decided, then finds the result of this job.
   * Undefined: it was not committed, and the work runs again. Without this function, the write rejects with
   * `outcome-unknown`.
   */
  findCommitted?: Work<T | undefined>
  /** Whether to notify other processes of this write. */
  announce?: boolean
}

/** Access to a database, as the stores use it. */
export type Database = {
  dialect: Dialect
  write<T>(job: Job<T>): Promise<T>
  /** Reads committed rows only. */
  read<T>(work: Work<T>): Promise<T>
  /** All reads of `work` see one snapshot. Keep it short: a long one keeps old rows alive. */
  readSnapshot<T>(work: Work<T>): Promise<T>
}

/** Runs work in its own transaction: committed when it resolves, rolled back when it rejects. */
export type Transact = <T>(work: Work<T>) => Promise<T>
