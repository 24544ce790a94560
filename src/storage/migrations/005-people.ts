import type { Migration } from './migration.ts'

export const people: Migration = {
  number: 5,
  name: 'people',
  up: ({ identity }) => [
    `create table organizations (
      number ${identity},
      id text not null unique,
      name text not null unique,
      created_at bigint not null
    )`,

    `create table users (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      name text not null,
      created_at bigint not null,
      unique (organization_id, name)
    )`,

    // What is kept of a key is its digest: nobody who reads this table can use what stands in it.
    `create table api_keys (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      user_id text,
      name text not null,
      scope text not null,
      prefix text not null unique,
      digest text not null,
      created_at bigint not null,
      expires_at bigint,
      revoked_at bigint
    )`,
    'create index api_keys_by_organization on api_keys (organization_id, number)',
    'create index api_keys_by_user on api_keys (user_id)',

    `create table audit_log (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      at bigint not null,
      actor text not null,
      user_id text,
      from_address text,
      verb text not null,
      object text,
      outcome text not null,
      status integer,
      request_id text
    )`,
    'create index audit_log_by_organization on audit_log (organization_id, number)',
  ],
}
