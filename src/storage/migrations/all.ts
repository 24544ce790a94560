import { first } from './001-first.ts'
import { firstOfChunks } from './chunks-001-first.ts'
import type { Migration } from './migration.ts'

/** The chunk log has migrations of its own: on SQLite it is another file. */
export type Track = 'store' | 'chunks'

/**
 * In order. A new one goes to the end, here or, if it is long, in a file of its own. A column, for example:
 * `{ number: 2, name: 'block-color', digest: '…', up: () => ['alter table blocks add column color text'] }`.
 * test/storage/migrations.test.ts says which digest it has.
 */
export const MIGRATIONS: Record<Track, readonly Migration[]> = { store: [first], chunks: [firstOfChunks] }
