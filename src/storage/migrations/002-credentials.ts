import type { Migration } from './migration.ts'

export const credentials: Migration = {
  number: 2,
  name: 'credentials',
  up: ({ identity, clustered }) => [
    // Secrets are here as ciphertext only; the key is in a file of the home.
    `create table credentials (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      provider text not null,
      label text not null,
      kind text not null,
      source text not null,
      sealed_secret text not null,
      sealed_refresh_token text,
      expires_at bigint,
      priority integer not null,
      dead_reason text,
      dead_detail text,
      use_count bigint not null,
      last_used_at bigint,
      oauth text,
      generation integer not null,
      refreshing_by text,
      refreshing_until bigint,
      refresh_failure text,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index credentials_by_label on credentials (organization_id, provider, label)',

    `create table cooldowns (
      organization_id text not null,
      scope text not null,
      key text not null,
      provider text not null,
      reason text not null,
      detail text not null,
      until bigint not null,
      run_id text,
      created_at bigint not null,
      primary key (organization_id, scope, key)
    ) ${clustered}`,
    'create index cooldowns_by_provider on cooldowns (organization_id, provider)',

    `create table model_notes (
      organization_id text not null,
      provider text not null,
      model text not null,
      notes text not null,
      primary key (organization_id, provider, model)
    ) ${clustered}`,
  ],
}
