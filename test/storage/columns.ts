import { DatabaseSync } from 'node:sqlite'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import { migrateSqlite } from '../../src/storage/migrations/migrate.ts'

/** Columns of a table after all migrations. */
export function columnsOf(table: string): { name: string; type: string }[] {
  const database = new DatabaseSync(':memory:')
  migrateSqlite(database, {
    track: 'store',
    migrations: MIGRATIONS.store,
    clock: { now: () => 0 },
    location: 'the database in memory',
  })
  const columns = database.prepare(`select name, lower(type) as type from pragma_table_info(?)`).all(table)
  database.close()
  return columns as { name: string; type: string }[]
}
