import { cleanText } from '../../core/block.ts'

/** Value of a column. In both databases times are milliseconds, booleans 0 or 1, and JSON is text. */
export type Value = string | number | null

/**
 * The column of each field. Text and numbers are stored as they are, booleans as `flag`, lists of text as `list`, all
 * else as `json`. An absent field is null.
 */
type Mapping<T> = { readonly [Field in keyof T]-?: ColumnFor<NonNullable<T[Field]>> }

type ColumnFor<Content> = [Content] extends [boolean]
  ? { flag: string }
  : [Content] extends [string | number]
    ? string
    : [Content] extends [readonly string[]]
      ? { list: string }
      : { json: string }

/** Row type that follows from a mapping. */
type MappedRow<T, M extends Mapping<T>> = {
  [Field in keyof T as NameOf<M[Field]>]-?:
    | StoredAs<NonNullable<T[Field]>>
    | (undefined extends T[Field] ? null : never)
}

type NameOf<Column> = Column extends string ? Column : Column[keyof Column] & string

type StoredAs<Content> = [Content] extends [boolean] ? number : [Content] extends [string | number] ? Content : string

/** Converts between objects and rows, from one list of columns. */
type RowMapper<T, Row> = {
  readonly columns: readonly (keyof Row & string)[]
  rowOf(object: T): Row
  objectOf(row: Row): T
  /** Fields without a column as JSON; null if there are none. */
  restAsJson(object: T): string | null
}

export type RowOf<Mapper> = Mapper extends { rowOf(object: never): infer Row } ? Row : never

/** Called as `rowMapper<Block>()({ … })`: the object type is given, the row type is inferred. */
export const rowMapper =
  <T extends object>() =>
  <const M extends Mapping<T>>(mapping: M): RowMapper<T, MappedRow<T, M>> => {
    const fields = Object.entries<ColumnSpec>(mapping).map(fieldOf)
    return {
      columns: fields.map(({ column }) => column) as never,
      rowOf(object) {
        const values = object as Record<string, unknown>
        const row: Record<string, Value> = {}
        for (const { name, column, write } of fields) {
          const value = values[name]
          row[column] = value === undefined ? null : write(value)
        }
        return row as MappedRow<T, M>
      },
      objectOf(row) {
        const values = row as Record<string, Value>
        const object: Record<string, unknown> = {}
        for (const { name, column, read } of fields) {
          const value = values[column]!
          if (value !== null) object[name] = read(value)
        }
        return object as T
      },
      restAsJson(object) {
        const json = JSON.stringify(Object.fromEntries(Object.entries(object).filter(([name]) => !(name in mapping))))
        return json === '{}' ? null : json
      },
    }
  }

type ColumnSpec = string | { flag: string } | { list: string } | { json: string }

type Field = { name: string; column: string; write(value: unknown): Value; read(value: Value): unknown }

function fieldOf([name, spec]: [string, ColumnSpec]): Field {
  if (typeof spec === 'string') return { name, column: spec, write: (value) => value as Value, read: (value) => value }
  if ('flag' in spec)
    return { name, column: spec.flag, write: (value) => (value ? 1 : 0), read: (value) => value === 1 }
  const read = (value: Value) => JSON.parse(value as string)
  if ('list' in spec) return { name, column: spec.list, write: (value) => listText(value as string[]), read }
  return { name, column: spec.json, write: (value) => JSON.stringify(value), read }
}

/** PostgreSQL searches lists as jsonb, which cannot hold NUL or lone surrogates. */
export const listText = (items: readonly string[]): string =>
  JSON.stringify(items.map((item) => cleanText(item).toWellFormed()))
