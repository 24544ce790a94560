import type { Clock } from '../../ports/clock.ts'
import { StorageError } from '../../ports/storage-error.ts'
import type { Job, Transact } from './database.ts'
import type { Executor } from './statement.ts'

type GroupCommit = {
  write<T>(job: Job<T>): Promise<T>
  /** Resolves when all jobs so far are settled; later jobs are refused. */
  close(): Promise<void>
}

type Ticket = { job: Job<unknown>; resolve(value: unknown): void; reject(reason: unknown): void }

/** Jobs that arrive together share one transaction; each still succeeds or fails on its own. */
export function groupCommit(options: { transact: Transact; soon: Clock['soon']; announce(): void }): GroupCommit {
  const { transact, soon, announce } = options
  let waiting: Ticket[] = []
  let isScheduled = false
  let isClosed = false
  let whenIdle: (() => void)[] = []

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    soon(flush)
  }

  async function flush(): Promise<void> {
    const group = waiting
    waiting = []
    if (group.length > 1)
      group.sort((one, other) => (one.job.key < other.job.key ? -1 : one.job.key > other.job.key ? 1 : 0))
    await commitGroup(group, transact)
    if (group.some((ticket) => ticket.job.announce)) announce()
    isScheduled = false
    if (waiting.length > 0) return schedule()
    for (const resolve of whenIdle) resolve()
    whenIdle = []
  }

  return {
    write: <T>(job: Job<T>) =>
      new Promise<T>((resolve, reject) => {
        if (isClosed) return reject(new StorageError('unreachable', 'The store is closed and accepts no more writes.'))
        waiting.push({ job, resolve: resolve as Ticket['resolve'], reject })
        schedule()
      }),
    close() {
      isClosed = true
      if (!isScheduled) return Promise.resolve()
      return new Promise((resolve) => whenIdle.push(resolve))
    },
  }
}

async function commitGroup(group: Ticket[], transact: Transact): Promise<void> {
  try {
    const answers = await transact((db) => workThrough(group, db))
    for (let index = 0; index < group.length; index++) group[index]!.resolve(answers[index])
  } catch (error) {
    await settleFailedGroup(group, error, transact)
  }
}

async function workThrough(group: Ticket[], db: Executor): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const ticket of group) answers.push(await ticket.job.work(db))
  return answers
}

async function settleFailedGroup(group: Ticket[], error: unknown, transact: Transact): Promise<void> {
  const fault = error instanceof StorageError ? error.fault : undefined
  // These faults concern the database, not a job: retrying each job would only multiply the wait.
  if (fault === 'busy' || fault === 'unreachable') return rejectAll(group, error)
  if (fault === 'outcome-unknown') {
    for (const ticket of group) await settle(ticket, () => findCommittedOrRepeat(ticket.job, error, transact))
    return
  }
  if (group.length === 1) return rejectAll(group, error)
  // One job may have violated a constraint: run separately, only that one fails.
  for (const ticket of group) await commitGroup([ticket], transact)
}

const rejectAll = (group: Ticket[], error: unknown): void => {
  for (const ticket of group) ticket.reject(error)
}

async function findCommittedOrRepeat(job: Job<unknown>, error: unknown, transact: Transact): Promise<unknown> {
  const { findCommitted, work } = job
  if (!findCommitted) throw error
  return transact(async (db) => (await findCommitted(db)) ?? (await work(db)))
}

async function settle(ticket: Ticket, answer: () => Promise<unknown>): Promise<void> {
  try {
    ticket.resolve(await answer())
  } catch (error) {
    ticket.reject(error)
  }
}
