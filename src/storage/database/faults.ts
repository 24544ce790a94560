import { StorageError, type StorageFault } from '../../ports/storage-error.ts'

/** SQLite's primary result codes. https://sqlite.org/rescode.html */
const SQLITE_FAULTS: Record<number, StorageFault> = {
  5: 'busy',
  6: 'busy',
  8: 'read-only',
  10: 'unreachable',
  11: 'corrupt',
  13: 'full',
  14: 'unreachable',
  26: 'corrupt',
}

/** IOERR_WRITE and IOERR_SHMSIZE: what a full disk looks like from the log and its index. */
const DISK_FULL_CODES = new Set([10 | (3 << 8), 10 | (19 << 8)])

const SYSTEM_FAULTS: Record<string, StorageFault> = {
  EACCES: 'read-only',
  EPERM: 'read-only',
  EROFS: 'read-only',
  ENOSPC: 'full',
  EDQUOT: 'full',
  ENOTDIR: 'unreachable',
  ENOENT: 'unreachable',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  ECONNABORTED: 'unreachable',
  EPIPE: 'unreachable',
  ETIMEDOUT: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
}

/** SQLSTATE. Serialization failures and deadlocks are retried where they happen; the rest of a class goes by it. */
const POSTGRES_FAULTS: Record<string, StorageFault> = {
  '53100': 'full',
  '25006': 'read-only',
  '25P03': 'unreachable',
  '57P01': 'unreachable',
  '57P02': 'unreachable',
  '57P03': 'unreachable',
  '57P05': 'unreachable',
  '53300': 'unreachable',
  '55P03': 'busy',
  '40001': 'busy',
  '40P01': 'busy',
  '3D000': 'unreachable',
  '28P01': 'unreachable',
  '28000': 'unreachable',
  XX001: 'corrupt',
  XX002: 'corrupt',
}

const ADVICE: Record<StorageFault, string> = {
  full: 'The disk is full. Free some space; writing goes on by itself.',
  busy: 'Another process kept it locked for too long. Try again; if it lasts, look for a backup or a shell that holds it.',
  'read-only': 'It cannot be written. Give the user Holdfast runs as the right to write there.',
  corrupt:
    'It is damaged. Stop Holdfast, keep the files, and restore a copy (see the .before-… files and your backups).',
  'newer-version': 'It was written by a newer Holdfast. Start that version, or restore a copy made before the upgrade.',
  'unreleased-version':
    'Its tables were made by an unreleased checkout of Holdfast, and no migration leads from there to this version. ' +
    'Nothing was changed. Use that checkout with it, or move it away and start with an empty home or database.',
  owned: 'Another Holdfast owns it.',
  unreachable: 'It cannot be reached. Check that it is there and that Holdfast may reach it.',
  'outcome-unknown': 'The connection broke during a commit. Read before writing again.',
}

/** `place` is the file or the server, as the message names it. What is no fault of the storage comes back as it is. */
export function toStorageError(error: unknown, location: string): unknown {
  if (error instanceof StorageError) return error
  const fault = faultOf(error)
  return fault ? storageError(fault, location, error) : error
}

export const storageError = (fault: StorageFault, place: string, cause?: unknown): StorageError =>
  new StorageError(fault, `${place}: ${ADVICE[fault]}${causeText(cause)}`, { cause })

/** Undefined for what is nobody's fault but ours or the caller's, such as a broken constraint. */
export function faultOf(error: unknown): StorageFault | undefined {
  if (error instanceof StorageError) return error.fault
  const { errcode, code } = error as { errcode?: number; code?: string }
  if (typeof errcode === 'number') return DISK_FULL_CODES.has(errcode) ? 'full' : SQLITE_FAULTS[errcode & 0xff]
  if (typeof code !== 'string') return isLostConnection(error) ? 'unreachable' : undefined
  return SYSTEM_FAULTS[code] ?? POSTGRES_FAULTS[code] ?? (code.startsWith('08') ? 'unreachable' : undefined)
}

/** A serialization failure or a deadlock: nothing was written and the same work may pass the next time. */
export const isRetryable = (error: unknown): boolean => {
  const { code } = error as { code?: string }
  return code === '40001' || code === '40P01'
}

/** `pg` gives its own connection errors no code, so here the text is all there is. */
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|timeout expired|read timeout/i.test(
    error.message,
  )
}

const causeText = (cause: unknown): string => (cause instanceof Error && cause.message ? ` (${cause.message})` : '')
