import type { Migration } from './migration.ts'

/** What the OpenAI-compatible API remembers beside conversations and runs. */
export const openai: Migration = {
  number: 21,
  name: 'openai',
  digest: 'c436629d656b1e94',
  up: ({ clustered }) => [
    // The key serializes the copies of a request that names no conversation, on any number of servers.
    `create table openai_requests (
      organization_id text not null,
      fingerprint text not null,
      conversation_id text not null,
      awaits_original smallint not null,
      placed_at bigint not null,
      primary key (organization_id, fingerprint)
    ) ${clustered}`,
    'create index openai_requests_by_age on openai_requests (placed_at)',
    'create index openai_requests_by_conversation on openai_requests (conversation_id)',
    `create table openai_conversations (
      id text not null primary key,
      organization_id text not null,
      metadata text not null,
      items text not null,
      created_at bigint not null
    ) ${clustered}`,
    `create table openai_deleted_responses (
      run_id text not null primary key,
      organization_id text not null
    ) ${clustered}`,
    'create index asked_calls_by_call on asked_calls (organization_id, call_id)',
  ],
}
