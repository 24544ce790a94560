import type { Dialect } from '../database/dialect.ts'

/** Numbered from 1 and never edited: a released migration has run on existing databases. */
export type Migration = {
  number: number
  name: string
  /**
   * Digest of its SQL, computed in test/storage/migrations.test.ts. Stored in each database, to recognize one with a
   * different history.
   */
  digest: string
  up(dialect: Dialect): string[]
}
