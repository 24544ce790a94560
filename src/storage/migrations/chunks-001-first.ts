import type { Migration } from './migration.ts'

/** The chunk log is written without fsync: in a separate file on SQLite, in unlogged tables on PostgreSQL. */
export const firstOfChunks: Migration = {
  number: 1,
  name: 'first',
  digest: '8778521806795014',
  up: ({ clustered, unlogged }) => [
    `create ${unlogged} table stream_heads (
      run_id text not null primary key,
      fence integer not null,
      "last" integer not null,
      last_event integer not null,
      ended smallint not null,
      ended_at bigint,
      boot_id text not null
    )`,
    // The sentinel: missing after a PostgreSQL crash emptied the tables. Then other missing heads may have existed.
    `insert into stream_heads (run_id, fence, "last", last_event, ended, boot_id) values ('sentinel', 0, 0, 0, 1, '')`,
    'create index stream_heads_unended on stream_heads (run_id) where ended = 0',
    'create index stream_heads_ended on stream_heads (ended_at) where ended = 1',
    `create ${unlogged} table chunks (
      run_id text not null,
      "first" integer not null,
      "last" integer not null,
      bodies text not null,
      primary key (run_id, "first")
    ) ${clustered}`,
  ],
}
