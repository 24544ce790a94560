import { renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { ClientBase } from 'pg'
import type { Clock } from '../../ports/clock.ts'
import { POSTGRES, SQLITE } from '../database/dialect.ts'
import { storageError } from '../database/faults.ts'
import { first } from './001-first.ts'
import { credentials } from './002-credentials.ts'
import { memory } from './003-memory.ts'
import { requests } from './004-requests.ts'
import { people } from './005-people.ts'
import { mcpServers } from './006-mcp-servers.ts'
import { conversations } from './007-conversations.ts'
import { callbacks } from './008-callbacks.ts'
import { messageSearch } from './009-message-search.ts'
import { passageVectors } from './010-passage-vectors.ts'
import { messageVectors } from './011-message-vectors.ts'
import { firstOfChunks } from './chunks-001-first.ts'
import type { Migration } from './migration.ts'

/** The chunk log moves on its own: on SQLite it is another file. */
export type Track = 'store' | 'chunks'

export const MIGRATIONS: Record<Track, readonly Migration[]> = {
  store: [
    first,
    credentials,
    memory,
    requests,
    people,
    mcpServers,
    conversations,
    callbacks,
    messageSearch,
    passageVectors,
    messageVectors,
  ],
  chunks: [firstOfChunks],
}

export type MigrationPlan = { track: Track; migrations: readonly Migration[]; clock: Pick<Clock, 'now'>; place: string }

const TABLE = `create table if not exists migrations (
  track text not null, number integer not null, name text not null, applied_at bigint not null,
  primary key (track, number)
)`

/** With `file`, a copy is left beside it before each change of a database that is in use. */
export function migrateSqlite(database: DatabaseSync, plan: MigrationPlan & { file?: string }): void {
  const { track, migrations, clock, file } = plan
  database.exec(TABLE)
  const before = sqliteVersion(database, track)
  refuseNewer(before, plan)
  for (const migration of migrations.filter(({ number }) => number > before)) {
    if (file && before > 0) copyBeside(database, file, migration)
    database.exec('begin immediate')
    try {
      // Another starter may have been here between the look and the lock.
      if (sqliteVersion(database, track) < migration.number) {
        for (const change of migration.up(SQLITE)) database.exec(change)
        database
          .prepare('insert into migrations (track, number, name, applied_at) values (?, ?, ?, ?)')
          .run(track, migration.number, migration.name, clock.now())
      }
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }
  refuseNewer(sqliteVersion(database, track), plan)
}

/** 0 for a database that Holdfast has not seen. */
export function sqliteVersion(database: DatabaseSync, track: Track): number {
  const isKnown = database.prepare(`select 1 from sqlite_master where type = 'table' and name = 'migrations'`).get()
  if (!isKnown) return 0
  const row = database.prepare('select max(number) as version from migrations where track = ?').get(track)
  return Number(row?.version ?? 0)
}

export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.number ?? 0

export function refuseNewer(version: number, plan: Pick<MigrationPlan, 'place' | 'migrations'>): void {
  const newest = newestOf(plan.migrations)
  if (version <= newest) return
  throw storageError('newer-version', plan.place, new Error(`it is at ${version}, this version knows up to ${newest}`))
}

/** Written under another name first: a copy that has its name is whole. */
function copyBeside(database: DatabaseSync, file: string, migration: Migration): void {
  const copy = `${file}.before-${String(migration.number).padStart(3, '0')}`
  const unfinished = `${copy}.unfinished`
  rmSync(unfinished, { force: true })
  database.prepare('vacuum into ?').run(unfinished)
  renameSync(unfinished, copy)
}

/** 'hold' in ASCII, so that it meets no other program's lock. */
const MIGRATION_LOCK = 0x686f6c64

export async function migratePostgres(client: ClientBase, plan: MigrationPlan): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  try {
    await client.query(TABLE)
    const version = await postgresVersion(client, plan.track)
    refuseNewer(version, plan)
    for (const migration of plan.migrations) if (migration.number > version) await migrateOnce(client, plan, migration)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
  }
}

async function postgresVersion(client: ClientBase, track: Track): Promise<number> {
  const { rows } = await client.query('select max(number) as version from migrations where track = $1', [track])
  return Number(rows[0]?.version ?? 0)
}

async function migrateOnce(client: ClientBase, { track, clock }: MigrationPlan, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    for (const change of migration.up(POSTGRES)) await client.query(change)
    await client.query('insert into migrations (track, number, name, applied_at) values ($1, $2, $3, $4)', [
      track,
      migration.number,
      migration.name,
      clock.now(),
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
