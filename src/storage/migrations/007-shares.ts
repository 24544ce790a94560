import type { Migration } from './migration.ts'

export const shares: Migration = {
  number: 7,
  name: 'shares',
  digest: '5c9f9c05ed3cc794',
  up: ({ clustered }) => [
    // The key whose request opened the run; null: the home's own key or the command line.
    'alter table runs add column opened_by text',
    // By organization: each takes its turn when runs are claimed.
    'drop index runs_queue',
    `create index runs_queue on runs (organization_id, queue_rank, number, conversation_id) where status = 'created'`,
    `create index runs_queue_of_key on runs (opened_by) where status = 'created' and opened_by is not null`,
    'drop index runs_running',
    `create index runs_running on runs (number, organization_id) where status = 'running'`,

    // What an operator has set for one organization, as JSON. Without a row, the defaults of the server hold.
    `create table organization_policies (
      organization_id text not null primary key,
      policy text not null
    ) ${clustered}`,

    // Of one day. The account is the organization (''), one of its keys, or a model without a price.
    `create table spending (
      organization_id text not null,
      day text not null,
      account text not null,
      micro_dollars bigint not null,
      tokens bigint not null,
      primary key (organization_id, day, account)
    ) ${clustered}`,
  ],
}
