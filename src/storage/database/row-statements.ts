import type { Insertable, Selectable } from 'kysely'
import type { BlockId, OrganizationId } from '../../core/id.ts'
import type { NewRow, Tables } from '../rows/tables.ts'
import { type Parameter, type Statement, statement, type Values } from './statement.ts'

// Kysely checks queries of a fixed table. Here the table is a parameter, so the signatures state the types, and the
// bodies are cast to them.

type TableName = keyof Tables & string
type ColumnOf<Name extends TableName> = keyof NewRow<Name> & string

/** Columns that an insert must name: not nullable and without a default. */
type NeededColumn<Name extends TableName> = {
  [Column in keyof Insertable<Tables[Name]>]-?: Record<never, never> extends Pick<Insertable<Tables[Name]>, Column>
    ? never
    : Column
}[keyof Insertable<Tables[Name]>]

/** Inserts a row; parameters are named like their columns. */
export const insertInto = <Name extends TableName, const Column extends ColumnOf<Name>>(
  table: Name,
  columns: NeededColumn<Name> extends Column ? readonly Column[] : never,
): Statement<Pick<NewRow<Name>, Column>, unknown> =>
  statement<Values>()((db, p) => db.insertInto<TableName>(table).values(parametersOf(p, columns))) as never

/** Tables whose rows have an id and belong to an organization. */
type OwnedTable = {
  [Name in TableName]: Tables[Name] extends { id: string; organization_id: OrganizationId } ? Name : never
}[TableName]

type IdOf<Name extends OwnedTable> = Tables[Name]['id']

/** Updates the row with this id, except for columns that never change. */
export const updateById = <Name extends OwnedTable, const Column extends ColumnOf<Name>>(
  table: Name,
  columns: readonly Column[],
): Statement<Pick<NewRow<Name>, Column> & { id: IdOf<Name> }, unknown> =>
  statement<Values>()((db, p) => {
    const changing: string[] = columns.filter((column) => !FIXED.includes(column))
    return db
      .updateTable(table as 'blocks')
      .set(parametersOf(p, changing))
      .where('id', '=', p('id') as BlockId)
  }) as never

const FIXED: readonly string[] = ['id', 'organization_id', 'created_at']

/** Selects a row by id; rows of other organizations look missing. `locked` also locks it until the transaction ends. */
export function rowById<Name extends OwnedTable>(table: Name) {
  type Key = { organization: OrganizationId; id: IdOf<Name> }
  const select = (isLocked: boolean): Statement<Key, Selectable<Tables[Name]>> =>
    statement<{ organization: OrganizationId; id: BlockId }>()((db, p, { lock }) => {
      const found = db
        .selectFrom(table as 'blocks')
        .selectAll()
        .where('id', '=', p('id'))
        .where('organization_id', '=', p('organization'))
      return isLocked ? lock(found) : found
    }) as never
  return { plain: select(false), locked: select(true) }
}

/** A parameter for each column, named like it. */
export const parametersOf = <V, const Column extends keyof V & string>(
  parameter: Parameter<V>,
  columns: readonly Column[],
): Pick<V, Column> => Object.fromEntries(columns.map((column) => [column, parameter(column)])) as Pick<V, Column>
