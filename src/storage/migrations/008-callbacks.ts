import type { Migration } from './migration.ts'

export const callbacks: Migration = {
  number: 8,
  name: 'callbacks',
  up: () => [
    'alter table runs add column callback_reach text',
    // When it is to be sent, or tried again; null where nothing is to be sent, or no more.
    'alter table runs add column callback_due_at bigint',
    'alter table runs add column callback_tries integer not null default 0',
    `create index runs_callbacks on runs (callback_due_at)
      where callback_due_at is not null and status in ('completed', 'failed', 'cancelled')`,
  ],
}
