import type { Migration } from './migration.ts'

export const mcpServers: Migration = {
  number: 6,
  name: 'mcp-servers',
  up: ({ identity }) => [
    // Tokens, headers and variables are in sealed_secrets as ciphertext only.
    `create table mcp_servers (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      name text not null,
      place text not null,
      sealed_secrets text,
      contact text not null,
      revision integer not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index mcp_servers_by_name on mcp_servers (organization_id, name)',

    'alter table tools add column mcp_server_id text',
    'create index tools_by_mcp_server on tools (mcp_server_id)',
  ],
}
