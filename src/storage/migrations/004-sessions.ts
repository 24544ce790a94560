import type { Migration } from './migration.ts'

export const sessions: Migration = {
  number: 4,
  name: 'sessions',
  digest: 'c768d0264a00d248',
  up: ({ clustered }) => [
    // The id is reserved: it becomes a run if the run that was joined ends without reading the message.
    `create table steers (
      id text not null primary key,
      organization_id text not null,
      conversation_id text not null,
      run_id text not null
    ) ${clustered}`,
    'create index steers_by_conversation on steers (conversation_id)',

    // Messages before this position were cleared: they are not in lists. Null: none.
    'alter table conversations add column list_start integer',

    'alter table agents add column session_expiry text',
    'create index agents_expiring on agents (number) where session_expiry is not null',
  ],
}
