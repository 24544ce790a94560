import { DatabaseSync } from 'node:sqlite'
import { StorageError } from '../../ports/storage-error.ts'
import { faultOf, toStorageError } from './faults.ts'

/**
 * Proof that nobody else runs turns in this home: an exclusive transaction on a file that nothing else opens. The
 * operating system ends it with the process, however that dies.
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
      `${home} is in use by another Holdfast, which runs its turns. Stop that one first, talk to it over HTTP, or give ` +
        'this one a home of its own (HOLDFAST_HOME).',
      { cause: error },
    )
  }
}
