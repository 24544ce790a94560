import type { Dialect } from './dialect.ts'
import type { Awaitable, Executor } from './statement.ts'

export type Work<T> = (db: Executor) => Awaitable<T>

/** One writing method's work. It may run more than once, but commits at most once. */
export type Job<T> = {
  /** Jobs of one commit run in the order of their keys, so that two processes take rows in the same order. */
  key: string
  work: Work<T>
  /**
   * After a commit of unknown outcome: waits until it is decided, then finds what this job wrote. Undefined: it is not
   * there and the work is done again. Without it, the caller is told that the outcome is unknown.
   */
  findCommitted?: Work<T | undefined>
  /** Whether other processes are waiting for such a write. */
  announce?: boolean
}

/** What the nouns need of a database. */
export type Database = {
  dialect: Dialect
  write<T>(job: Job<T>): Promise<T>
  /** Sees committed rows only. */
  read<T>(work: Work<T>): Promise<T>
  /** The same, with all its reads at one moment. Short: a long one keeps old rows alive. */
  readSnapshot<T>(work: Work<T>): Promise<T>
}

/** Work in a transaction of its own: committed when it resolves, without a trace when it rejects. */
export type Transact = <T>(work: Work<T>) => Promise<T>
