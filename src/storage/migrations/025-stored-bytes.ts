import { bytesOfRow, COUNTED_COLUMNS, type CountedTable } from '../database/counted-columns.ts'
import type { Migration } from './migration.ts'

const TABLES = Object.keys(COUNTED_COLUMNS) as CountedTable[]

/**
 * Triggers count the bytes in the transaction of each change, so that no statement can forget to. On PostgreSQL each
 * connection adds to a row of its own: transactions of one organization do not wait for each other, and the count is
 * the sum of the rows.
 */
export const storedBytes: Migration = {
  number: 25,
  name: 'stored-bytes',
  digest: '6deefb6e304e8a74',
  up: (dialect) => [
    `create table stored_bytes (
      organization_id text not null,
      writer integer not null,
      bytes bigint not null,
      primary key (organization_id, writer)
    ) ${dialect.clustered}`,
    `insert into stored_bytes (organization_id, writer, bytes)
      select organization_id, 0, sum(bytes) from (
        ${TABLES.map((table) => `select organization_id, ${bytesOfRow(table, table)} as bytes from ${table}`).join(' union all ')}
      ) as present group by organization_id`,
    ...TABLES.flatMap((table) => (dialect.name === 'sqlite' ? countedBySqlite(table) : countedByPostgres(table))),
  ],
}

const ADD = 'on conflict (organization_id, writer) do update set bytes = stored_bytes.bytes + excluded.bytes;'

const changed = (table: CountedTable, differs: string) =>
  COUNTED_COLUMNS[table].map((column) => `old.${column} ${differs} new.${column}`).join(' or ')

function countedBySqlite(table: CountedTable): string[] {
  const trigger = (event: string, bytes: string, { row = 'new', when = '' } = {}) =>
    `create trigger count_bytes_${table}_${event.split(' ')[0]} after ${event} on ${table} ${when} begin
      insert into stored_bytes (organization_id, writer, bytes) values (${row}.organization_id, 0, ${bytes}) ${ADD} end`
  const difference = `(${bytesOfRow(table, 'new')}) - (${bytesOfRow(table, 'old')})`
  return [
    trigger('insert', bytesOfRow(table, 'new')),
    trigger('delete', `-(${bytesOfRow(table, 'old')})`, { row: 'old' }),
    trigger(`update of ${COUNTED_COLUMNS[table].join(', ')}`, difference, { when: `when ${changed(table, 'is not')}` }),
  ]
}

/** Inserts and deletions are counted once for all rows of a statement. */
function countedByPostgres(table: CountedTable): string[] {
  const statement = (event: 'insert' | 'delete', rows: 'new' | 'old', sum: string) => {
    const name = `count_bytes_${table}_${event}`
    return [
      `create function ${name}() returns trigger language plpgsql as $$ begin
        insert into stored_bytes (organization_id, writer, bytes)
        select organization_id, pg_backend_pid(), ${sum} from affected group by organization_id ${ADD}
        return null; end $$`,
      `create trigger ${name} after ${event} on ${table} referencing ${rows} table as affected
        for each statement execute function ${name}()`,
    ]
  }
  const name = `count_bytes_${table}_update`
  return [
    ...statement('insert', 'new', `sum(${bytesOfRow(table, 'affected')})`),
    ...statement('delete', 'old', `-sum(${bytesOfRow(table, 'affected')})`),
    `create function ${name}() returns trigger language plpgsql as $$ begin
      insert into stored_bytes (organization_id, writer, bytes)
      values (new.organization_id, pg_backend_pid(), (${bytesOfRow(table, 'new')}) - (${bytesOfRow(table, 'old')})) ${ADD}
      return null; end $$`,
    `create trigger ${name} after update of ${COUNTED_COLUMNS[table].join(', ')} on ${table} for each row
      when (${changed(table, 'is distinct from')}) execute function ${name}()`,
  ]
}
