import type { Migration } from './migration.ts'

/** Whether the request that opened a run was a retry whose original may still be waiting in a server. */
export const lateOriginals: Migration = {
  number: 2,
  name: 'late-originals',
  digest: 'b143b448850f9bf2',
  up: () => ['alter table run_requests add column awaits_original smallint not null default 0'],
}
