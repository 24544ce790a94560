import type { Migration } from './migration.ts'

export const imports: Migration = {
  number: 11,
  name: 'imports',
  digest: '42bf5c6b2500ae9d',
  up: ({ identity, clustered }) => [
    // `source` names the origin: one import for each, which later requests continue.
    `create table imports (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      source text not null,
      origin text not null,
      options text not null,
      state text not null,
      failure text,
      progress text not null,
      passes integer not null,
      sealed_key text,
      runner text,
      fence integer not null,
      created_at bigint not null,
      started_at bigint not null,
      updated_at bigint not null,
      finished_at bigint
    )`,
    'create unique index imports_by_source on imports (organization_id, source)',
    `create index imports_running on imports (number) where state = 'running'`,

    // A row for each object of the source, written with the object: a repeated import finds it and goes on.
    `create table import_objects (
      import_number bigint not null,
      kind text not null,
      parent text not null,
      source_id text not null,
      outcome text not null,
      target_id text,
      owner_id text,
      reason text,
      body text,
      read_up_to text,
      primary key (import_number, kind, parent, source_id)
    ) ${clustered}`,
    'create index import_objects_by_owner on import_objects (owner_id) where owner_id is not null',
    // For deletions of these; messages and conversations are deleted with their agent.
    `create index import_objects_by_target on import_objects (target_id)
      where kind in ('agent', 'block', 'tool', 'passage', 'mcp-server')`,
  ],
}
