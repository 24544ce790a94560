import type { Migration } from './migration.ts'

export const webhookSecrets: Migration = {
  number: 13,
  name: 'webhook-secrets',
  digest: 'b053691e42053ef8',
  up: ({ identity }) => [
    `create table webhook_secrets (
      number ${identity},
      id text not null unique,
      organization_id text not null unique,
      sealed_secrets text not null,
      created_at bigint not null
    )`,
  ],
}
