import type { Migration } from './migration.ts'

export const auditChain: Migration = {
  number: 9,
  name: 'audit-chain',
  digest: '5f795b4cd6875df1',
  up: ({ clustered }) => [
    'alter table audit_log add column detail text',
    // The place of an entry in the chain of its organization. Null: written before there was a chain.
    'alter table audit_log add column sequence bigint',
    'alter table audit_log add column hash text',
    'create unique index audit_log_chain on audit_log (organization_id, sequence) where sequence is not null',
    `create table audit_heads (
      organization_id text not null primary key,
      sequence bigint not null,
      hash text not null
    ) ${clustered}`,
  ],
}
