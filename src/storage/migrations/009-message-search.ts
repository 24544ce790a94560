import type { Migration } from './migration.ts'

/** Written by whoever searches and by an idle server, never by a turn: a message costs what it cost before. */
export const messageSearch: Migration = {
  number: 9,
  name: 'message-search',
  up: ({ name, identity, clustered }) => [
    `create table message_index (
      number ${identity},
      organization_id text not null,
      agent_id text not null,
      conversation_id text not null,
      position integer not null,
      role text not null,
      created_at bigint not null,
      copy_of text
    )`,
    'create unique index message_index_in_order on message_index (conversation_id, position)',
    'create index message_index_by_agent on message_index (agent_id)',
    // Positions of a conversation are committed in order, so what lies before this one is indexed.
    `create table message_index_heads (
      conversation_id text not null primary key,
      agent_id text not null,
      next_position integer not null
    ) ${clustered}`,
    ...(name === 'sqlite' ? SQLITE_WORDS : POSTGRES_WORDS),
  ],
}

/** Words only, no text. `scope` names the organisation, agent and conversation, so that the words of others are passed over. */
const SQLITE_WORDS = [
  `create virtual table message_words using fts5(scope, content, content='', contentless_delete=1, tokenize='ascii')`,
  `create trigger message_words_delete after delete on message_index begin
    delete from message_words where rowid = old.number;
  end`,
]

const POSTGRES_WORDS = [
  'alter table message_index add column search tsvector',
  'create index message_words on message_index using gin (search)',
]
