import type { Migration } from './migration.ts'

/** Files on their way from a workspace to a chat. `content` is base64: both databases bind text alike. */
export const gatewayFiles: Migration = {
  number: 24,
  name: 'gateway-files',
  digest: '9ab22c943c1bed91',
  up: () => [
    `create table gateway_files (
      file_id text not null primary key,
      organization_id text not null,
      conversation_id text not null,
      run_id text not null,
      call_id text not null,
      name text not null,
      media_type text not null,
      bytes integer not null,
      created_at bigint not null,
      content text not null
    )`,
    'create index gateway_files_by_run on gateway_files (run_id, created_at)',
  ],
}
