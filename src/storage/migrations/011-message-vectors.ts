import type { Migration } from './migration.ts'

/** What was said, as an embedding model places it. Follows the index of words, and goes with it. */
export const messageVectors: Migration = {
  number: 11,
  name: 'message-vectors',
  up: ({ name, clustered }) => [
    // The model that was asked; a message without one waits, and only what somebody said is ever asked for.
    'alter table message_index add column embedded_by text',
    `create index message_index_waiting on message_index (number)
      where embedded_by is null and role in ('user', 'assistant', 'system')`,
    `create table message_vectors (
      message_number bigint not null primary key
        ${name === 'postgres' ? 'references message_index (number) on delete cascade' : ''},
      vector text,
      refusal text
    ) ${clustered}`,
    ...(name === 'sqlite'
      ? [
          `create trigger message_vectors_delete after delete on message_index when old.embedded_by is not null begin
            delete from message_vectors where message_number = old.number;
          end`,
        ]
      : []),
    `create table message_vector_models (
      agent_id text not null,
      model text not null,
      organization_id text not null,
      primary key (agent_id, model)
    ) ${clustered}`,
    'create index message_index_by_model on message_index (agent_id, embedded_by) where embedded_by is not null',
  ],
}
