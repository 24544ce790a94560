import type { Compilable, Kysely } from 'kysely'
import type { Value } from '../rows/row-mapping.ts'
import type { Tables } from '../rows/tables.ts'
import type { Dialect } from './dialect.ts'

export type Values = Record<string, Value>
export type Awaitable<T> = T | Promise<T>

/** A query written once, compiled once per database and prepared once per connection. */
export type Statement<V, Row> = {
  /** Where each connection keeps its prepared form. */
  readonly slot: number
  compileFor(dialect: Dialect): Compiled
  /** Only for types: what it takes and what it gives. */
  readonly types?: (values: V) => Row
}

/** Stands for the value of that name, which comes with each execution: it has its type, and Kysely checks it as one. */
export type Parameter<V> = <Name extends keyof V & string>(name: Name) => V[Name]

type Build<V, Row> = (db: Kysely<Tables>, parameter: Parameter<V>, dialect: Dialect) => Compilable<Row>

/** Runs statements inside one connection. SQLite answers with plain values, PostgreSQL with promises. */
export type Executor = {
  get<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Row | undefined>
  all<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Row[]>
  /** Rows as lists, in the order of the columns: half the cost of objects, for long reads. */
  rows<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<Value[][]>
  /** Answers with the number of rows changed. */
  run<V extends Values, Row>(statement: Statement<V, Row>, values: V): Awaitable<number>
}

export type Compiled = { sql: string; bind(values: Values): Value[] }

let slots = 0

export function statement<V extends Values>() {
  return <Row>(build: Build<V, Row>): Statement<V, Row> => {
    const compiled = new Map<Dialect, Compiled>()
    return {
      slot: slots++,
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

/** Values of a list under numbered names, for `in`: `tag0`, `tag1`, … */
export type Slots<Name extends string, Item = string> = { [Slot in `${Name}${number}`]: Item }

/** As many parameters as a list may have items; unused ones are filled with an impossible value. */
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
  if (items.length > count) throw new Error(`at most ${count} values fit into ${name}`)
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
