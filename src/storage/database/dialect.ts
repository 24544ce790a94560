import {
  DummyDriver,
  Kysely,
  type LimitNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  type SelectQueryBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { ConversationId } from '../../core/id.ts'
import type { Tables } from '../rows/tables.ts'

/** Everything in which the two databases truly differ. */
export type Dialect = {
  name: 'sqlite' | 'postgres'
  /** Writes SQL; never runs it. */
  queryBuilder: Kysely<Tables>
  /** Keeps the rows of this query to the transaction. SQLite has one writer and needs nothing. */
  lock: RowLock
  /** The same, passing over rows that another worker is taking. */
  lockOrSkip: RowLock
  /**
   * The sole right to open runs in a conversation, for as long as the transaction lasts. Not its row: a holder that
   * appends messages changes that row after its run's, and an opener that interrupts would do so the other way round.
   */
  openingLock(conversation: ConversationId): RawBuilder<unknown>
  /** The clock of the leases, where the database has one that all workers share; otherwise `ours`. */
  leaseClock(ours: number): RawBuilder<number>
  /** The items of a column that holds a JSON list, as rows of `item(value)`. */
  listItems(list: RawBuilder<unknown>): RawBuilder<unknown>
  /** Column types and table options of migrations. */
  identity: string
  clustered: string
  unlogged: string
}

type RowLock = <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O>

/**
 * SQLite looks at the value of a bare `limit ?` when it plans, and therefore parses the statement again each time it is
 * bound: 15 µs where an expression, whose value it does not ask for, takes one.
 */
class SteadyLimits extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    super.visitLimit(node)
    this.append(' + 0')
  }
}

export const SQLITE: Dialect = {
  name: 'sqlite',
  queryBuilder: new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SteadyLimits(),
    },
  }),
  lock: (query) => query,
  lockOrSkip: (query) => query,
  openingLock: () => sql`1`,
  leaseClock: (ours) => sql<number>`${ours}`,
  listItems: (list) => sql`json_each(${list}) as item`,
  identity: 'integer primary key autoincrement',
  clustered: 'without rowid',
  unlogged: '',
}

export const POSTGRES: Dialect = {
  name: 'postgres',
  queryBuilder: new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
  lock: (query) => query.forUpdate(),
  lockOrSkip: (query) => query.forUpdate().skipLocked(),
  openingLock: (conversation) => sql`pg_advisory_xact_lock(hashtextextended(${conversation}, 0))`,
  leaseClock: () => sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  listItems: (list) => sql`jsonb_array_elements_text(cast(${list} as jsonb)) as item(value)`,
  identity: 'bigint generated always as identity primary key',
  clustered: '',
  unlogged: 'unlogged',
}
