import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { newKeyedMutex } from '../../../core/mutex.ts'
import type { EditedFile, WrittenFile } from '../../../ports/workspace-files.ts'
import { errorCode, FileRefusal } from './file-refusal.ts'

export type AppliedResult = ({ type: 'done' } & WrittenFile) | ({ type: 'done' } & EditedFile)

/**
 * What was written under which key, so that a question that is asked again, after whatever died in between, gets its first
 * answer. A key is recorded when the new content is safe in its temporary file, just before that takes the place of the old:
 * a record whose temporary file is still there was not applied.
 */
export type AppliedKeys = {
  find(key: string): Promise<AppliedResult | undefined>
  /** Durable when it resolves, not there when it rejects. */
  record(key: string, applied: AppliedResult, temporary: string): Promise<void>
  /** It was not applied after all. */
  undo(key: string): Promise<void>
}

type JournalEntry = { key: string; temporary: string; applied: AppliedResult } | { key: string; undone: true }

/** A call that is repeated is repeated soon: long before so many others were made. */
const MOST_KEPT = 1_000
const MOST_BYTES = 4 * 1024 * 1024

type AppliedKeysOptions = {
  /** Without one, kept in memory only. */
  path: string | undefined
  /** Takes away a temporary file, if it is there; before that, does what has to be done if it is. */
  removeLeftover(temporary: string, before: () => Promise<void>): Promise<void>
  maxKept?: number
}

export function newAppliedKeys({ path, removeLeftover, maxKept = MOST_KEPT }: AppliedKeysOptions): AppliedKeys {
  const kept = new Map<string, Extract<JournalEntry, { applied: AppliedResult }>>()
  const inTurn = newKeyedMutex()
  let lines = 0
  let loading: Promise<void> | undefined

  const take = (line: JournalEntry) => {
    kept.delete(line.key)
    if ('applied' in line) kept.set(line.key, line)
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
  }

  const append = async (line: JournalEntry) => {
    if (path !== undefined) {
      await appendTo(path, JSON.stringify(line))
      lines += 1
    }
    take(line)
    if (path !== undefined && lines > 4 * maxKept) await shorten(path)
  }

  const shorten = async (journal: string) => {
    try {
      await rewrite(journal, [...kept.values()])
      lines = kept.size
    } catch {
      // What was just appended is there all the same; the next line tries again.
    }
  }

  /** What the process before us left half done is taken back, before anything else happens here. */
  const load = async () => {
    const text = path === undefined ? '' : await readJournal(path)
    for (const line of text.split('\n').filter(Boolean)) {
      lines += 1
      const known = parsed(line)
      if (known) take(known)
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
      await ofJournal(loaded())
      return kept.get(key)?.applied
    },
    async record(key, applied, temporary) {
      await ofJournal(loaded())
      await ofJournal(inTurn('journal', () => append({ key, temporary, applied })))
    },
    undo: (key) => inTurn('journal', () => append({ key, undone: true })),
  }
}

/** All of it or nothing, also where the disk is full. */
async function appendTo(path: string, line: string): Promise<void> {
  const file = await openJournal(path)
  try {
    const { size } = await file.stat()
    try {
      // Half a line that a crash left must not swallow this one; a blank line is none.
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

/** Its end, if something made it longer than we ever would. */
async function readJournal(path: string): Promise<string> {
  const file = await openJournal(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, MOST_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const OPENED = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Commands of the workspace may reach the folder it is in: what they put in its place is neither waited for nor followed. */
async function openJournal(path: string): Promise<FileHandle> {
  const found = await lstat(path).catch(() => undefined)
  if (found && !found.isFile()) await rm(path, { recursive: true, force: true })
  return open(path, OPENED, 0o600)
}

/** What is wrong with the journal is not wrong with the file that is to be written. */
async function ofJournal<T>(work: Promise<T>): Promise<T> {
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

/** A line that a crash cut short was not recorded. */
function parsed(text: string): JournalEntry | undefined {
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
