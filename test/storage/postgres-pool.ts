import pg from 'pg'
import { startPostgres, type TestPostgres } from '../harness/postgres.ts'

/**
 * Databases in the state of `template` after its migrations. A returned database is emptied for the next test, in a
 * fiftieth of the time of a new copy.
 */
export async function newDatabasePool(template: TestPostgres) {
  await query(template.url, KEEP_ROWS)
  const free: TestPostgres[] = []
  const all: TestPostgres[] = []
  return {
    async take(): Promise<TestPostgres> {
      const emptied = free.pop()
      if (emptied) return emptied
      const made = await startPostgres(template)
      if ('skip' in made) throw new Error(made.skip)
      all.push(made)
      return made
    },
    async giveBack(database: TestPostgres): Promise<void> {
      await query(database.url, EMPTY)
      free.push(database)
    },
    async stop(): Promise<void> {
      for (const database of all) await database.stop()
    },
  }
}

/** Saves the rows that the migrations insert. */
const KEEP_ROWS = `do $$
declare name text;
declare has_rows boolean;
begin
  create schema kept;
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('select exists (select from public.%I)', name) into has_rows;
    if has_rows then execute format('create table kept.%I as table public.%I', name, name); end if;
  end loop;
end $$`

/** As a replica, so that foreign keys are not checked and the order of the tables does not matter. */
const EMPTY = `do $$
declare name text;
begin
  set local session_replication_role = replica;
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('delete from public.%I', name);
  end loop;
  for name in select tablename from pg_tables where schemaname = 'kept' loop
    execute format('insert into public.%I select * from kept.%I', name, name);
  end loop;
  for name in select sequencename from pg_sequences where schemaname = 'public' loop
    execute format('alter sequence public.%I restart', name);
  end loop;
end $$`

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
