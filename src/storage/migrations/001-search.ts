import type { Dialect } from '../database/dialect.ts'

type Options = Pick<Dialect, 'name' | 'identity' | 'clustered'>

/** Part of the first migration: passages, their words and their vectors. */
export const passageTables = ({ name, identity, clustered }: Options): string[] => [
  `create table passages (
    number ${identity},
    id text not null unique,
    organization_id text not null,
    agent_id text not null,
    content text not null,
    tags text not null,
    created_at bigint not null
  )`,
  'create index passages_by_agent on passages (agent_id, number)',
  ...PASSAGE_WORDS[name],

  // A passage without a row is not embedded yet; one with a refusal was rejected by this model and is not retried.
  `create table passage_vectors (
    passage_number bigint not null primary key,
    organization_id text not null,
    agent_id text not null,
    model text not null,
    vector text,
    refusal text
  ) ${clustered}`,
  'create index passage_vectors_by_agent on passage_vectors (agent_id, model, passage_number)',
]

const PASSAGE_WORDS: Record<Dialect['name'], string[]> = {
  // The index holds no copy of the text: triggers add and remove its rows.
  sqlite: [
    `create virtual table passages_search using fts5(content, content='passages', content_rowid='number')`,
    `create trigger passages_search_insert after insert on passages begin
      insert into passages_search (rowid, content) values (new.number, new.content);
    end`,
    `create trigger passages_search_delete after delete on passages begin
      insert into passages_search (passages_search, rowid, content) values ('delete', old.number, old.content);
    end`,
  ],
  postgres: [
    `alter table passages add column search tsvector generated always as (to_tsvector('simple', content)) stored`,
    'create index passages_search on passages using gin (search)',
  ],
}

/**
 * Part of the first migration: words and vectors of messages. Written by searches and background jobs, never by a turn.
 */
export const messageIndexTables = ({ name, identity, clustered }: Options): string[] => [
  // `embedded_by` is the model that embedded the message; null means not embedded yet. Only user, assistant and system
  // messages are embedded.
  `create table message_index (
    number ${identity},
    organization_id text not null,
    agent_id text not null,
    conversation_id text not null,
    position integer not null,
    role text not null,
    created_at bigint not null,
    copy_of text,
    embedded_by text
  )`,
  'create unique index message_index_in_order on message_index (conversation_id, position)',
  'create index message_index_by_agent on message_index (agent_id)',
  `create index message_index_waiting on message_index (number)
    where embedded_by is null and role in ('user', 'assistant', 'system')`,
  'create index message_index_by_model on message_index (agent_id, embedded_by) where embedded_by is not null',

  // Positions of a conversation are committed in order, so every position before this one is indexed.
  `create table message_index_heads (
    conversation_id text not null primary key,
    agent_id text not null,
    next_position integer not null
  ) ${clustered}`,
  ...MESSAGE_WORDS[name],

  `create table message_vectors (
    message_number bigint not null primary key
      ${name === 'postgres' ? 'references message_index (number) on delete cascade' : ''},
    vector text,
    refusal text
  ) ${clustered}`,
  ...(name === 'sqlite' ? [DELETE_MESSAGE_VECTOR] : []),

  `create table message_vector_models (
    agent_id text not null,
    model text not null,
    organization_id text not null,
    primary key (agent_id, model)
  ) ${clustered}`,
]

const MESSAGE_WORDS: Record<Dialect['name'], string[]> = {
  // Words only, no text. `scope` holds organization, agent and conversation, so that a search skips the words of
  // others.
  sqlite: [
    `create virtual table message_words using fts5(scope, content, content='', contentless_delete=1, tokenize='ascii')`,
    `create trigger message_words_delete after delete on message_index begin
      delete from message_words where rowid = old.number;
    end`,
  ],
  postgres: [
    'alter table message_index add column search tsvector',
    'create index message_words on message_index using gin (search)',
  ],
}

const DELETE_MESSAGE_VECTOR = `create trigger message_vectors_delete after delete on message_index
  when old.embedded_by is not null begin
    delete from message_vectors where message_number = old.number;
  end`
