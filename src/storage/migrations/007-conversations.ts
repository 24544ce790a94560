import type { Migration } from './migration.ts'

export const conversations: Migration = {
  number: 7,
  name: 'conversations',
  up: () => [
    'alter table conversations add column summary text',
    `alter table conversations add column details text not null default '{}'`,
    'alter table conversations add column archived_at bigint',
    'alter table conversations add column deleted_at bigint',
    'alter table conversations add column updated_at bigint',
    // Under the key of the home, bound to the agent.
    'alter table agents add column sealed_secrets text',
    // A fork has rows of its own for what it was copied from; people know a copy by the id of its original.
    'alter table messages add column copy_of text',
    'create index messages_copies on messages (copy_of, conversation_id) where copy_of is not null',
  ],
}
