import { realClock as clock } from '../../src/config/real-clock.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'

/** A real process that owns the given home until it is killed. Prints `owned`, or the fault. */
try {
  await openSqliteStore({ home: process.argv[2]!, clock, durability: 'strict', role: 'owner' })
  process.stdout.write('owned\n')
  setInterval(() => {}, 60_000)
} catch (error) {
  if (!(error instanceof StorageError)) throw error
  process.stdout.write(`${error.fault}: ${error.message}\n`)
}
