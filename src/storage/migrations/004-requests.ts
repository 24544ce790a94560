import type { Migration } from './migration.ts'

export const requests: Migration = {
  number: 4,
  name: 'requests',
  up: ({ clustered }) => [
    // A client's name for an input belongs to one run: the database refuses a second, whoever asks.
    `create table run_otids (
      conversation_id text not null,
      otid text not null,
      organization_id text not null,
      run_id text not null,
      request_digest text not null,
      primary key (conversation_id, otid)
    ) ${clustered}`,

    `create table run_requests (
      run_id text not null primary key,
      organization_id text not null,
      conversation_id text not null,
      fingerprint text not null,
      answered smallint not null,
      created_at bigint not null
    ) ${clustered}`,
    'create index run_requests_by_fingerprint on run_requests (conversation_id, fingerprint, created_at)',
  ],
}
