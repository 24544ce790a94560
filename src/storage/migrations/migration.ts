import type { Dialect } from '../database/dialect.ts'

/** Numbered from 1 and never edited: one that has landed has run somewhere. */
export type Migration = {
  number: number
  name: string
  /**
   * Of its statements, as test/storage/migrations.test.ts computes it. A database keeps it, so that one with another past
   * is recognized.
   */
  digest: string
  up(dialect: Dialect): string[]
}
