import { DatabaseSync } from 'node:sqlite'
import { StorageError } from '../../ports/storage-error.ts'
import { faultOf, toStorageError } from './faults.ts'

/**
 * Proves that no other process runs turns in this home: an exclusive transaction on a file used for nothing else. The
 * operating system releases it when the process ends, even by kill -9.
 */
export function takeOwnerLock(file: string, home: string): { release(): void } {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(file, { timeout: 0 })
    lock.exec('begin exclusive')
    const held = lock
    return { release: () => held.close() }
  } catch (error) {
    lock?.close()
    if (faultOf(error) !== 'busy') throw toStorageError(error, file)
    throw new StorageError(
      'owned',
      `${home} is in use by another Holdfast process. Stop that process first, use its HTTP API, or set HOLDFAST_HOME to ` +
        'another folder.',
      { cause: error },
    )
  }
}
