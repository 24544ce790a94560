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

/** IOERR_WRITE and IOERR_SHMSIZE: how SQLite reports a full disk for the WAL and its index. */
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

/**
 * SQLSTATE. Serialization failures and deadlocks are retried in `newPostgresConnection`; class 08 is handled in
 * `faultOf`.
 */
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
  full: 'The disk is full. Free some space; writes then continue without a restart.',
  busy: 'Another process keeps it locked. Try again; if this continues, look for a backup or a shell that holds the lock.',
  'read-only': 'It cannot be written. Give the user that runs Holdfast write permission.',
  corrupt:
    'It is damaged. Stop Holdfast, keep the files, and restore a backup (see the .before-… files and your own backups).',
  'newer-version':
    'It was written by a newer Holdfast. Start that version, or restore a backup made before the upgrade.',
  'unreleased-version':
    'Its tables were made by an unreleased checkout of Holdfast and cannot be migrated to this version. ' +
    'Nothing was changed. Use that checkout with it, or move it away and start with an empty home or database.',
  owned: 'Another Holdfast process uses it. Stop that process first.',
  unreachable:
    'It cannot be reached. Check that the file exists or the server is running, and that Holdfast has access to it.',
  'outcome-unknown':
    'The connection broke during a commit, which may or may not have happened. Check before you try again.',
}

/** `location` is the file or server named in the message. Errors that are not storage faults are returned unchanged. */
export function toStorageError(error: unknown, location: string): unknown {
  if (error instanceof StorageError) return error
  const fault = faultOf(error)
  return fault ? storageError(fault, location, error) : error
}

export const storageError = (fault: StorageFault, location: string, cause?: unknown): StorageError =>
  new StorageError(fault, `${location}: ${ADVICE[fault]}${causeText(cause)}`, { cause })

/** Undefined for errors that are not storage faults, such as a violated constraint. */
export function faultOf(error: unknown): StorageFault | undefined {
  if (error instanceof StorageError) return error.fault
  const { errcode, code } = error as { errcode?: number; code?: string }
  if (typeof errcode === 'number') return DISK_FULL_CODES.has(errcode) ? 'full' : SQLITE_FAULTS[errcode & 0xff]
  if (typeof code !== 'string') return isLostConnection(error) ? 'unreachable' : undefined
  return SYSTEM_FAULTS[code] ?? POSTGRES_FAULTS[code] ?? (code.startsWith('08') ? 'unreachable' : undefined)
}

/** A serialization failure or a deadlock: nothing was written, and a retry may succeed. */
export const isRetryable = (error: unknown): boolean => {
  const { code } = error as { code?: string }
  return code === '40001' || code === '40P01'
}

/** `pg` sets no code on its connection errors, so only the text identifies them. */
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|timeout expired|read timeout/i.test(
    error.message,
  )
}

const causeText = (cause: unknown): string => (cause instanceof Error && cause.message ? ` (${cause.message})` : '')
