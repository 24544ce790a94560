import type { Migration } from './migration.ts'

export const hooks: Migration = {
  number: 22,
  name: 'hooks',
  digest: '4b5999f87b1e6ba4',
  up: ({ identity }) => [
    `create table hooks (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      agent_id text not null,
      sealed_secrets text not null,
      is_paused smallint not null,
      created_at bigint not null,
      body text not null
    )`,
    'create index hooks_by_organization on hooks (organization_id, number)',
    'create index hooks_by_agent on hooks (agent_id)',
    `create table hook_deliveries (
      number ${identity},
      hook_id text not null,
      organization_id text not null,
      agent_id text not null,
      delivery_id text,
      dedupe_key text,
      event text,
      outcome text not null,
      run_id text,
      reason text,
      bytes integer not null,
      received_at bigint not null,
      repeats integer not null
    )`,
    // The key is the promise that a delivery becomes one run, on any number of servers.
    `create unique index hook_deliveries_once on hook_deliveries (hook_id, dedupe_key) where dedupe_key is not null`,
    'create index hook_deliveries_in_order on hook_deliveries (hook_id, number)',
    'create index hook_deliveries_by_agent on hook_deliveries (agent_id)',
    'create index hook_deliveries_by_organization on hook_deliveries (organization_id)',
  ],
}
