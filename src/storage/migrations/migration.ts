import type { Dialect } from '../database/dialect.ts'

/** Numbered and never edited: a released one has run somewhere. */
export type Migration = { number: number; name: string; up(dialect: Dialect): string[] }
