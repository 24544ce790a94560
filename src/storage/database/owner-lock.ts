import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { makeFilePrivate } from '../../disk/private-file.ts'
import { StorageError } from '../../ports/storage-error.ts'
import { faultOf, toStorageError } from './faults.ts'

/**
 * Proves that no other process runs turns in this home: an exclusive transaction on a file used for nothing else. The
 * operating system releases it when the process ends, even by kill -9.
 */
export function takeOwnerLock(file: string, home: string): { release(): void } {
  let lock: DatabaseSync | undefined
  try {
    makeFilePrivate(file)
    lock = new DatabaseSync(file, { timeout: 0 })
    lock.exec('begin exclusive')
    const held = lock
    writeHolder(file)
    return { release: () => held.close() }
  } catch (error) {
    lock?.close()
    if (faultOf(error) !== 'busy') throw toStorageError(error, file)
    throw new StorageError(
      'owned',
      `${home} is in use by another Holdfast process${whoHolds(file)}. Stop that process first, or set HOLDFAST_HOME to ` +
        'another folder.',
      { cause: error },
    )
  }
}

/** Beside the lock, for the message of the process that finds it taken: the lock alone does not say who holds it. */
const noteOf = (file: string): string => `${file}.pid`

/** `process.argv` has the command: a chat has no HTTP API to use, a server has. */
function writeHolder(file: string): void {
  try {
    writeFileSync(noteOf(file), JSON.stringify({ pid: process.pid, command: process.argv[2] ?? '' }), { mode: 0o600 })
  } catch {
    // Only the message below needs it; a full disk must not keep a server from starting.
  }
}

function whoHolds(file: string): string {
  try {
    const { pid, command } = JSON.parse(readFileSync(noteOf(file), 'utf8')) as { pid?: unknown; command?: unknown }
    if (!Number.isInteger(pid)) return ''
    const what = typeof command === 'string' && /^[a-z]+$/.test(command) ? `, \`holdfast ${command}\`` : ''
    return ` (pid ${pid}${what})${command === 'serve' ? '; use it over HTTP' : what ? '; only `holdfast serve` can be used over HTTP' : ''}`
  } catch {
    return ''
  }
}
