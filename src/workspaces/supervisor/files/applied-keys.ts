import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { newKeyedMutex } from '../../../core/mutex.ts'
import type { EditedFile, WrittenFile } from '../../../ports/workspace-files.ts'
import { errorCode, FileRefusal } from './file-refusal.ts'

export type AppliedResult = ({ type: 'done' } & WrittenFile) | ({ type: 'done' } & EditedFile)

/**
 * Idempotency keys with their results, so that a repeated change gets its first answer, even after a crash. A key is
 * recorded when the new content is synced in its temporary file, just before the rename: a record whose temporary file
 * still exists was not applied.
 */
export type AppliedKeys = {
  find(key: string): Promise<AppliedResult | undefined>
  /** The record is durable when this resolves, and absent when it rejects. */
  record(key: string, applied: AppliedResult, temporary: string): Promise<void>
  /** Removes the record of a change that was not applied. */
  undo(key: string): Promise<void>
}

type JournalEntry = { key: string; temporary: string; applied: AppliedResult } | { key: string; undone: true }

/** A call is repeated soon, long before this many others. */
const MAX_KEPT = 1_000
const MAX_JOURNAL_BYTES = 4 * 1024 * 1024

type AppliedKeysOptions = {
  /** Undefined to keep the keys in memory only. */
  path: string | undefined
  /** Removes a temporary file if it exists; calls `before` first in that case. */
  removeLeftover(temporary: string, before: () => Promise<void>): Promise<void>
  maxKept?: number
}

export function newAppliedKeys({ path, removeLeftover, maxKept = MAX_KEPT }: AppliedKeysOptions): AppliedKeys {
  const kept = new Map<string, Extract<JournalEntry, { applied: AppliedResult }>>()
  const mutex = newKeyedMutex()
  let entryCount = 0
  let loading: Promise<void> | undefined

  const apply = (entry: JournalEntry) => {
    kept.delete(entry.key)
    if ('applied' in entry) kept.set(entry.key, entry)
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
  }

  const append = async (entry: JournalEntry) => {
    if (path !== undefined) {
      await appendTo(path, JSON.stringify(entry))
      entryCount += 1
    }
    apply(entry)
    if (path !== undefined && entryCount > 4 * maxKept) await compact(path)
  }

  const compact = async (journal: string) => {
    try {
      await rewrite(journal, [...kept.values()])
      entryCount = kept.size
    } catch {
      // The appended entry is stored anyway; the next append tries again.
    }
  }

  /** Reads the journal, and undoes changes that the previous process recorded but did not apply. */
  const load = async () => {
    const text = path === undefined ? '' : await readJournal(path)
    for (const entry of text.split('\n').filter(Boolean)) {
      entryCount += 1
      const known = parseEntry(entry)
      if (known) apply(known)
    }
    for (const { key, temporary } of [...kept.values()])
      await removeLeftover(temporary, () => append({ key, undone: true }))
  }

  const loaded = () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }

  return {
    async find(key) {
      await asJournalError(loaded())
      return kept.get(key)?.applied
    },
    async record(key, applied, temporary) {
      await asJournalError(loaded())
      await asJournalError(mutex('journal', () => append({ key, temporary, applied })))
    },
    undo: (key) => mutex('journal', () => append({ key, undone: true })),
  }
}

/** Appends the whole line or nothing, also on a full disk. */
async function appendTo(path: string, line: string): Promise<void> {
  const file = await openJournal(path)
  try {
    const { size } = await file.stat()
    try {
      // Start on a new line: a crash may have left half a line. Blank lines are skipped when reading.
      await file.appendFile(`\n${line}\n`)
      await file.datasync()
    } catch (error) {
      await file.truncate(size)
      throw error
    }
  } finally {
    await file.close()
  }
}

async function rewrite(path: string, lines: JournalEntry[]): Promise<void> {
  const temporary = `${path}.tmp`
  await rm(temporary, { force: true })
  await appendTo(temporary, lines.map((line) => JSON.stringify(line)).join('\n'))
  await rename(temporary, path)
}

/** The last MAX_JOURNAL_BYTES: a command may have made the file longer. */
async function readJournal(path: string): Promise<string> {
  const file = await openJournal(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, MAX_JOURNAL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const JOURNAL_FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Commands can replace the journal: a link is not followed, a pipe not waited for, and anything but a file is removed.
 */
async function openJournal(path: string): Promise<FileHandle> {
  const found = await lstat(path).catch(() => undefined)
  if (found && !found.isFile()) await rm(path, { recursive: true, force: true })
  return open(path, JOURNAL_FLAGS, 0o600)
}

/** Reports an error of the journal as such, not as one of the file to be written. */
async function asJournalError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
    const why = code ?? String(error)
    throw new FileRefusal(
      'refused',
      `The workspace cannot note what it writes (${why}). Nothing was changed: try again.`,
    )
  }
}

/** A line cut short by a crash does not count. */
function parseEntry(text: string): JournalEntry | undefined {
  try {
    const line = JSON.parse(text) as Partial<
      Record<keyof JournalEntry | 'applied' | 'temporary' | 'undone', unknown>
    > | null
    if (typeof line?.key !== 'string') return undefined
    if (line.undone === true) return { key: line.key, undone: true }
    const { key, temporary, applied } = line
    return typeof temporary === 'string' && isApplied(applied) ? { key, temporary, applied } : undefined
  } catch {
    return undefined
  }
}

const isApplied = (value: unknown): value is AppliedResult =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'done'
