import type { Migration } from './migration.ts'

/** Whether the answer of a heartbeat was silence, and what a heartbeat is decided by. */
export const heartbeats: Migration = {
  number: 26,
  name: 'heartbeats',
  digest: '6228607392993587',
  up: () => [
    'alter table runs add column silent smallint',
    // A continuing run counts for the day of the heartbeat that it continues.
    'create index runs_continuing on runs (continues) where continues is not null',
    'create index steers_by_run on steers (run_id)',
  ],
}
