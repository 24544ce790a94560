import type { Migration } from './migration.ts'

export const approvals: Migration = {
  number: 6,
  name: 'approvals',
  digest: '15fb1ce9e10a9e9e',
  up: ({ clustered }) => [
    // The calls that a person was asked about: an id is asked about once in a conversation.
    `create table asked_calls (
      conversation_id text not null,
      call_id text not null,
      organization_id text not null,
      run_id text not null,
      primary key (conversation_id, call_id)
    ) ${clustered}`,

    // The scope `agent` no longer includes approving. Keys from before keep what they could do.
    `update api_keys set scope = 'agent approve' where scope = 'agent'`,
  ],
}
