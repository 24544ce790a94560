import { backup, DatabaseSync } from 'node:sqlite'
import { makeFilePrivate } from '../disk/private-file.ts'
import { StorageError } from '../ports/storage-error.ts'
import { faultOf, toStorageError } from './database/faults.ts'

const BUSY_TIMEOUT_MS = 5_000
/**
 * All pages in one batch, which is one read transaction: it blocks no writer, and the WAL grows by what is written
 * meanwhile. With smaller batches SQLite starts again after each commit of another process, and under load never ends
 * (measured on 500 MB: one batch takes 1.5 s; batches of 8 MB had copied a tenth after 15 s).
 */
const ALL_PAGES = 2 ** 31 - 1

/** Copies the database as it is at one moment, beside the processes that use it, and checks the pages of the copy. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    try {
      makeFilePrivate(to)
      await backup(source, to, { rate: ALL_PAGES })
    } finally {
      source.close()
    }
    requireSoundPages(to, from)
  } catch (error) {
    throw toStorageError(error, faultOf(error) === 'full' ? to : from)
  }
}

function requireSoundPages(copy: string, original: string): void {
  const database = new DatabaseSync(copy)
  try {
    const [found] = database.prepare('pragma quick_check(1)').all()
    const result = String(found?.quick_check)
    if (result === 'ok') return
    throw new StorageError(
      'corrupt',
      `${original} is damaged (${result}). No backup of it was written; keep older ones.`,
    )
  } finally {
    database.close()
  }
}
