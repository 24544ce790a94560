import type { Migration } from './migration.ts'

export const schedules: Migration = {
  number: 16,
  name: 'schedules',
  digest: 'c2b65908784a7d37',
  up: ({ identity, clustered }) => [
    `create table schedules (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      agent_id text not null,
      conversation_id text,
      next_at bigint,
      is_paused smallint not null,
      pause text,
      last_run text,
      created_at bigint not null,
      body text not null
    )`,
    'create index schedules_by_organization on schedules (organization_id, number)',
    'create index schedules_by_agent on schedules (agent_id, number)',
    'create index schedules_due on schedules (next_at) where is_paused = 0 and next_at is not null',

    // The key is the promise that no instant fires twice, on any number of servers.
    `create table schedule_instants (
      schedule_id text not null,
      is_manual smallint not null,
      instant bigint not null,
      last_instant bigint not null,
      count integer not null,
      organization_id text not null,
      outcome text not null,
      reason text,
      run_id text,
      settled_at bigint not null,
      primary key (schedule_id, is_manual, instant)
    ) ${clustered}`,
    'create index schedule_instants_in_order on schedule_instants (schedule_id, instant)',
  ],
}
