import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

/** Runs that no chat started are owed to the chat of their conversation; one person has chats on several accounts. */
export const gatewayPeople: Migration = {
  number: 18,
  name: 'gateway-people',
  digest: '73f8d075d0e7865e',
  up: (dialect) => [
    'alter table gateway_sessions add column is_private smallint not null default 1',
    // Only Telegram has stored sessions so far; its groups have negative ids.
    `update gateway_sessions set is_private = 0 where chat_id like '-%'`,
    'create index gateway_sessions_by_conversation on gateway_sessions (conversation_id)',
    'alter table gateway_deliveries add column is_unprompted smallint not null default 0',
    ...owingToChats(dialect),

    `create table gateway_identities (
      organization_id text not null,
      account text not null,
      sender_id text not null,
      chat_id text not null,
      person_id text not null,
      name text not null,
      linked_at bigint not null,
      code text,
      code_expires_at bigint,
      primary key (organization_id, account, sender_id)
    ) ${dialect.clustered}`,
    'create index gateway_identities_by_person on gateway_identities (organization_id, person_id)',
    'create index gateway_identities_by_code on gateway_identities (organization_id, code) where code is not null',
  ],
}

/**
 * The run and what it owes are one commit, whichever statement inserts it. Runs that a chat started name it in their
 * metadata and get their delivery from the gateway; the continuation of a run inherits that of the former.
 */
function owingToChats({ name }: Dialect): string[] {
  const isOfChat = name === 'sqlite' ? `json_extract(new.metadata, '$.gateway')` : `new.metadata::jsonb -> 'gateway'`
  const insert = `insert ${name === 'sqlite' ? 'or ignore ' : ''}into gateway_deliveries
    (run_id, organization_id, account, chat_id, thread, is_private, conversation_id, state, created_at, is_unprompted)
    select new.id, organization_id, account, chat_id, thread, is_private, conversation_id, 'open', new.created_at, 1
    from gateway_sessions where conversation_id = new.conversation_id and ${isOfChat} is null
    order by last_at desc limit 1${name === 'sqlite' ? '' : ' on conflict (run_id) do nothing'};`
  if (name === 'sqlite')
    return [`create trigger owe_run_to_chat after insert on runs when new.continues is null begin ${insert} end`]
  return [
    `create function owe_run_to_chat() returns trigger language plpgsql as $$ begin ${insert} return null; end $$`,
    `create trigger owe_run_to_chat after insert on runs for each row when (new.continues is null)
      execute function owe_run_to_chat()`,
  ]
}
