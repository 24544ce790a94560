import type { NewRow, Tables } from '../rows/tables.ts'
import { type Executor, type Statement, statement, type Values } from './statement.ts'

/** Rows of one statement, largest first: PostgreSQL answers a statement of 64 rows as fast as one of one. */
const SIZES = [256, 64, 8, 1] as const

type OnConflict = 'fail' | 'ignore'

/**
 * Inserts many rows of a table with few statements. Each size is compiled once and prepared once. `ignore` skips rows
 * whose key exists.
 */
export function insertMany<Name extends keyof Tables & string, const Column extends keyof NewRow<Name> & string>(
  table: Name,
  columns: readonly Column[],
  onConflict: OnConflict = 'fail',
) {
  const statements = SIZES.map((size) => ({ size, insert: insertOf(table, columns, { size, onConflict }) }))
  return async (db: Executor, rows: readonly Pick<NewRow<Name>, Column>[]): Promise<void> => {
    let next = 0
    for (const { size, insert } of statements)
      for (; rows.length - next >= size; next += size)
        await db.run(insert, valuesOf(rows, { from: next, size, columns }))
  }
}

const slot = (column: string, index: number): string => `${column}${index}`

function insertOf(
  table: string,
  columns: readonly string[],
  { size, onConflict }: { size: number; onConflict: OnConflict },
): Statement<Values, unknown> {
  return statement<Values>()((db, p) => {
    const rows = Array.from({ length: size }, (_, index) =>
      Object.fromEntries(columns.map((column) => [column, p(slot(column, index))])),
    )
    // The columns were checked against the table by the signature of `insertMany`.
    const insert = db.insertInto(table as 'workers').values(rows as never)
    return onConflict === 'ignore' ? insert.onConflict((conflict) => conflict.doNothing()) : insert
  })
}

function valuesOf(
  rows: readonly object[],
  { from, size, columns }: { from: number; size: number; columns: readonly string[] },
): Values {
  const values: Values = {}
  for (let index = 0; index < size; index++) {
    const row = rows[from + index] as Values
    for (const column of columns) values[slot(column, index)] = row[column]!
  }
  return values
}
