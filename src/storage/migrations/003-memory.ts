import type { Migration } from './migration.ts'

export const memory: Migration = {
  number: 3,
  name: 'memory',
  up: ({ name, identity, clustered }) => [
    `alter table agents add column settings text not null default '{}'`,
    // What the model of this conversation is told first; null: to be compiled when it is needed next.
    'alter table conversations add column system_prompt text',

    `create table blocks (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      label text not null,
      value text not null,
      char_limit integer not null,
      description text,
      read_only smallint not null,
      tags text not null,
      metadata text not null,
      hidden smallint,
      template_name text,
      is_template smallint not null,
      version integer not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create index blocks_by_label on blocks (organization_id, label, number)',

    `create table agent_blocks (
      agent_id text not null,
      block_id text not null,
      label text not null,
      position integer not null,
      primary key (agent_id, block_id)
    ) ${clustered}`,
    'create unique index agent_blocks_by_label on agent_blocks (agent_id, label)',
    'create index agent_blocks_by_block on agent_blocks (block_id)',

    `create table agent_tags (
      organization_id text not null,
      agent_id text not null,
      tag text not null,
      primary key (agent_id, tag)
    ) ${clustered}`,
    'create index agent_tags_by_tag on agent_tags (organization_id, tag)',

    `create table tools (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      name text not null,
      tool_type text not null,
      body text not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index tools_by_name on tools (organization_id, name)',

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
    ...(name === 'sqlite' ? SQLITE_SEARCH : POSTGRES_SEARCH),
  ],
}

/** The index keeps no copy of the text: it is told of each row that comes and goes. */
const SQLITE_SEARCH = [
  `create virtual table passages_search using fts5(content, content='passages', content_rowid='number')`,
  `create trigger passages_search_insert after insert on passages begin
    insert into passages_search (rowid, content) values (new.number, new.content);
  end`,
  `create trigger passages_search_delete after delete on passages begin
    insert into passages_search (passages_search, rowid, content) values ('delete', old.number, old.content);
  end`,
]

const POSTGRES_SEARCH = [
  `alter table passages add column search tsvector generated always as (to_tsvector('simple', content)) stored`,
  'create index passages_search on passages using gin (search)',
]
