import { renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { ClientBase } from 'pg'
import { makeFilePrivate } from '../../disk/private-file.ts'
import type { Clock } from '../../ports/clock.ts'
import { POSTGRES, SQLITE } from '../database/dialect.ts'
import { storageError } from '../database/faults.ts'
import type { Track } from './all.ts'
import type { Migration } from './migration.ts'

type MigrationPlan = { track: Track; migrations: readonly Migration[]; clock: Pick<Clock, 'now'>; location: string }

const TABLE = `create table if not exists migrations (
  track text not null, number integer not null, name text not null, digest text not null, applied_at bigint not null,
  primary key (track, number)
)`

/** A migration as recorded in the database. */
type Applied = { number: number; digest: string }

/** With `file`, backs up a database that is in use before each migration. */
export function migrateSqlite(database: DatabaseSync, plan: MigrationPlan & { file?: string }): void {
  const { track, migrations, clock, file } = plan
  const before = sqliteVersion(database, plan)
  database.exec(TABLE)
  for (const migration of migrations.filter(({ number }) => number > before)) {
    if (file && before > 0) backUpBefore(database, file, migration)
    database.exec('begin immediate')
    try {
      // Another process may have migrated between the check and the lock.
      if (sqliteVersion(database, plan) < migration.number) {
        for (const change of migration.up(SQLITE)) database.exec(change)
        const { number, name, digest } = migration
        database
          .prepare('insert into migrations (track, number, name, digest, applied_at) values (?, ?, ?, ?, ?)')
          .run(track, number, name, digest, clock.now())
      }
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }
}

/** 0 for a new database. Throws if this version cannot use the database. */
export function sqliteVersion(
  database: DatabaseSync,
  plan: Pick<MigrationPlan, 'track' | 'migrations' | 'location'>,
): number {
  const columns = database.prepare(`select name from pragma_table_info('migrations')`).all()
  if (columns.length === 0) return 0
  if (!columns.some(({ name }) => name === 'digest')) throw unreleased(plan.location)
  const applied = database.prepare('select number, digest from migrations where track = ? order by number')
  return versionOf(applied.all(plan.track) as Applied[], plan)
}

export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.number ?? 0

function versionOf(
  applied: readonly Applied[],
  { migrations, location }: Pick<MigrationPlan, 'migrations' | 'location'>,
): number {
  const version = applied.at(-1)?.number ?? 0
  const newest = newestOf(migrations)
  if (version > newest)
    throw storageError(
      'newer-version',
      location,
      new Error(`its schema version is ${version}, this Holdfast supports up to ${newest}`),
    )
  for (const { number, digest } of applied) {
    const known = migrations.find((migration) => migration.number === number)
    if (known?.digest !== digest)
      throw unreleased(
        location,
        `its migration ${number} has digest ${digest}, in this version it has ${known?.digest}`,
      )
  }
  return version
}

const unreleased = (location: string, detail = 'its migrations have no digest') =>
  storageError('unreleased-version', location, new Error(detail))

/** Written under a temporary name first: a backup with the final name is complete. */
function backUpBefore(database: DatabaseSync, file: string, migration: Migration): void {
  const copy = `${file}.before-${String(migration.number).padStart(3, '0')}`
  const unfinished = `${copy}.unfinished`
  rmSync(unfinished, { force: true })
  makeFilePrivate(unfinished)
  database.prepare('vacuum into ?').run(unfinished)
  renameSync(unfinished, copy)
}

/** 'hold' in ASCII, to avoid the advisory locks of other programs. */
const MIGRATION_LOCK = 0x686f6c64

export async function migratePostgres(client: ClientBase, plan: MigrationPlan): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  try {
    const version = await postgresVersion(client, plan)
    await client.query(TABLE)
    for (const migration of plan.migrations) if (migration.number > version) await migrateOnce(client, plan, migration)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
  }
}

async function postgresVersion(client: ClientBase, plan: MigrationPlan): Promise<number> {
  const { rows: columns } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = to_regclass('migrations') and attnum > 0`,
  )
  if (columns.length === 0) return 0
  if (!columns.some(({ name }) => name === 'digest')) throw unreleased(plan.location)
  const applied = 'select number, digest from migrations where track = $1 order by number'
  const { rows } = await client.query<Applied>(applied, [plan.track])
  return versionOf(rows, plan)
}

async function migrateOnce(client: ClientBase, { track, clock }: MigrationPlan, migration: Migration): Promise<void> {
  const { number, name, digest } = migration
  await client.query('begin')
  try {
    for (const change of migration.up(POSTGRES)) await client.query(change)
    await client.query('insert into migrations (track, number, name, digest, applied_at) values ($1, $2, $3, $4, $5)', [
      track,
      number,
      name,
      digest,
      clock.now(),
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
