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

/** All differences between the two databases. */
export type Dialect = {
  name: 'sqlite' | 'postgres'
  /** Builds SQL; never runs it. */
  queryBuilder: Kysely<Tables>
  /** Locks the rows of this query until the transaction ends. SQLite has one writer and needs no lock. */
  lock: RowLock
  /** Like `lock`, skipping rows that another transaction has locked. */
  lockOrSkip: RowLock
  /**
   * Exclusive lock for opening runs in a conversation, held until the transaction ends. It is not the lock of the
   * conversation's row: a holder that appends messages locks that row after the run's, and an opener that interrupts
   * would lock them in reverse order.
   */
  openingLock(conversation: ConversationId): RawBuilder<unknown>
  /** Clock of the leases: the database's, if all workers share one; otherwise `ours`. */
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
 * SQLite uses the value of a bare `limit ?` in its query plan, and parses the statement again on each bind: 15 µs,
 * against 1 µs for an expression, whose value it ignores.
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
