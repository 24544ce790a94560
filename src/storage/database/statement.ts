import type { Compilable, Kysely } from 'kysely'
import type { Value } from '../rows/row-mapping.ts'
import type { Tables } from '../rows/tables.ts'
import type { Dialect } from './dialect.ts'

export type Values = Record<string, Value>
export type Awaitable<T> = T | Promise<T>

/** A query written once, compiled once per database and prepared once per connection. */
export type Statement<V, Row> = {
  /** Index under which each connection caches the prepared statement. */
  readonly slot: number
  /** PostgreSQL plans it for its values in each execution: for values whose frequencies differ by orders of magnitude. */
  readonly isPlannedEachTime: boolean
  compileFor(dialect: Dialect): Compiled
  /** Type-level only: parameters and row type. */
  readonly types?: (values: V) => Row
}

/** Placeholder for a named value that each execution supplies; typed like the value, so Kysely checks it. */
export type Parameter<V> = <Name extends keyof V & string>(name: Name) => V[Name]

type Build<V, Row> = (db: Kysely<Tables>, parameter: Parameter<V>, dialect: Dialect) => Compilable<Row>

/** Runs statements on one connection. SQLite returns values, PostgreSQL promises. */
export type Executor = {
  get<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Row | undefined>
  all<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Row[]>
  /** Rows as arrays, in column order: half the cost of objects, for long reads. */
  rows<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Value[][]>
  /** Like `all` and `rows`, up to PAGE_BYTES: a page of large rows ends early, after at least one row. */
  page<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Row[]>
  pageRows<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Value[][]>
  /** Returns the number of rows changed. */
  run<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<number>
}

export type Compiled = { sql: string; bind(values: Values): Value[] }

let slots = 0

export function statement<V extends Values>({ isPlannedEachTime = false } = {}) {
  return <Row>(build: Build<V, Row>): Statement<V, Row> => {
    const compiled = new Map<Dialect, Compiled>()
    return {
      slot: slots++,
      isPlannedEachTime,
      compileFor(dialect) {
        const known = compiled.get(dialect)
        if (known) return known
        const fresh = compile(build, dialect)
        compiled.set(dialect, fresh)
        return fresh
      },
    }
  }
}

/** List values under numbered names, for `in`: `tag0`, `tag1`, … */
export type Slots<Name extends string, Item = string> = { [Slot in `${Name}${number}`]: Item }

/** A fixed number of parameters for a list; `listValues` fills unused ones with ''. */
export const listParameters = <V, Name extends string>(
  parameter: Parameter<V>,
  name: Name,
  count: number,
): V[keyof V & `${Name}${number}`][] =>
  Array.from({ length: count }, (_, index) => parameter(`${name}${index}` as keyof V & `${Name}${number}`))

export function listValues<Name extends string, Item extends string>(
  name: Name,
  items: readonly Item[],
  count: number,
): Slots<Name, Item> {
  if (items.length > count)
    throw new Error(`too many values for ${name}: ${items.length}, at most ${count} are allowed`)
  const slots = Array.from({ length: count }, (_, index) => [`${name}${index}`, items[index] ?? ''])
  return Object.fromEntries(slots)
}

class NamedParameter {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function compile<V, Row>(build: Build<V, Row>, dialect: Dialect): Compiled {
  const parameter: Parameter<V> = (name) => new NamedParameter(name) as never
  const { sql, parameters } = build(dialect.queryBuilder, parameter, dialect).compile()
  return {
    sql,
    bind(values) {
      const bound = new Array<Value>(parameters.length)
      for (let index = 0; index < bound.length; index++) {
        const slot = parameters[index]
        bound[index] = slot instanceof NamedParameter ? values[slot.name]! : (slot as Value)
      }
      return bound
    },
  }
}
