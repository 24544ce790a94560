import type { Migration } from './migration.ts'

/** Chat platforms: what arrived, what is owed, what was sent, and who may talk. */
export const gateway: Migration = {
  number: 12,
  name: 'gateway',
  digest: '6dfe84ce54281abb',
  up: ({ identity, clustered }) => [
    `create table gateway_accounts (
      organization_id text not null,
      name text not null,
      platform text not null,
      state text not null,
      detail text,
      bot_id text,
      bot_name text,
      cursor_value text,
      owner text,
      fence bigint not null,
      last_success_at bigint,
      next_try_at bigint,
      updated_at bigint not null,
      primary key (organization_id, name)
    ) ${clustered}`,

    `create table gateway_inbound (
      number ${identity},
      organization_id text not null,
      account text not null,
      update_key text not null,
      lane text not null,
      message_key text,
      sender_id text,
      kind text not null,
      raw text not null,
      received_at bigint not null,
      due_at bigint not null,
      state text not null,
      reason text,
      note text,
      head bigint,
      conversation_id text,
      run_id text,
      ended_at bigint
    )`,
    'create unique index gateway_inbound_by_key on gateway_inbound (organization_id, account, update_key)',
    'create index gateway_inbound_by_message on gateway_inbound (organization_id, account, message_key)',
    `create index gateway_inbound_pending on gateway_inbound (organization_id, account, number) where state = 'pending'`,

    `create table gateway_outbound (
      number ${identity},
      organization_id text not null,
      account text not null,
      message_key text not null,
      chat_id text not null,
      thread text,
      reply_to text,
      is_private smallint not null,
      run_id text,
      body text not null,
      version integer not null,
      state text not null,
      message_id text,
      attempts integer not null,
      failures integer not null,
      lost integer not null,
      is_plain smallint not null,
      due_at bigint not null,
      error text,
      is_told smallint not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index gateway_outbound_by_key on gateway_outbound (organization_id, account, message_key)',
    `create index gateway_outbound_open on gateway_outbound (organization_id, account, number)
      where state in ('pending', 'sending')`,
    `create index gateway_outbound_untold on gateway_outbound (organization_id, account, chat_id)
      where state = 'unknown' and is_told = 0`,

    `create table gateway_sessions (
      organization_id text not null,
      account text not null,
      session_key text not null,
      chat_id text not null,
      thread text,
      title text,
      agent_id text not null,
      conversation_id text not null,
      busy text,
      created_at bigint not null,
      last_at bigint not null,
      primary key (organization_id, account, session_key)
    ) ${clustered}`,

    `create table gateway_deliveries (
      run_id text not null primary key,
      organization_id text not null,
      account text not null,
      chat_id text not null,
      thread text,
      is_private smallint not null,
      reply_to text,
      conversation_id text not null,
      state text not null,
      after_run text,
      created_at bigint not null
    ) ${clustered}`,
    `create index gateway_deliveries_open on gateway_deliveries (organization_id, account, created_at)
      where state <> 'ended'`,

    `create table gateway_pairings (
      organization_id text not null,
      account text not null,
      sender_id text not null,
      name text not null,
      state text not null,
      code text,
      created_at bigint not null,
      expires_at bigint,
      approved_by text,
      primary key (organization_id, account, sender_id)
    ) ${clustered}`,

    `create table gateway_tokens (
      token text not null primary key,
      organization_id text not null,
      account text not null,
      run_id text not null,
      call_id text not null,
      digest text not null,
      chat_id text not null,
      tool text not null,
      message_key text not null,
      created_at bigint not null,
      decision text,
      decided_by text,
      decided_at bigint
    ) ${clustered}`,
    'create unique index gateway_tokens_by_call on gateway_tokens (organization_id, run_id, call_id)',
  ],
}
