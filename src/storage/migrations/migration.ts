import { createHash } from 'node:crypto'
import { type Dialect, POSTGRES, SQLITE } from '../database/dialect.ts'

/** Numbered from 1 and never edited: one that has landed has run somewhere. */
export type Migration = {
  number: number
  name: string
  /** `digestOf` its statements. A database keeps it, so that one with another past is recognized. */
  digest: string
  up(dialect: Dialect): string[]
}

export function digestOf({ up }: Pick<Migration, 'up'>): string {
  const text = JSON.stringify([up(SQLITE), up(POSTGRES)])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
