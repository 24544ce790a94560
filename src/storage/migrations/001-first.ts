import { messageIndexTables, passageTables } from './001-search.ts'
import type { Migration } from './migration.ts'

export const first: Migration = {
  number: 1,
  name: 'first',
  digest: 'd2bc95bd9cd986e5',
  up: ({ name, identity, clustered }) => [
    // Names and values of secrets are ciphertext, sealed by the key of the home and bound to the agent.
    `create table agents (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      name text not null,
      system text not null,
      model text not null,
      fallback text not null,
      tools text not null,
      description text,
      settings text,
      sealed_secrets text,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create index agents_by_name on agents (organization_id, name, number)',

    `create table agent_tags (
      organization_id text not null,
      agent_id text not null,
      tag text not null,
      primary key (agent_id, tag)
    ) ${clustered}`,
    'create index agent_tags_by_tag on agent_tags (organization_id, tag)',

    `create table conversations (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      agent_id text not null,
      is_default smallint not null,
      summary text,
      hidden smallint,
      own_blocks text,
      details text,
      system_prompt text,
      context_start integer not null,
      next_position integer not null,
      created_at bigint not null,
      updated_at bigint,
      last_message_at bigint,
      archived_at bigint,
      deleted_at bigint
    )`,
    'create index conversations_by_agent on conversations (agent_id, number)',
    'create unique index conversations_default on conversations (agent_id) where is_default = 1',

    `create table runs (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      agent_id text not null,
      conversation_id text not null,
      status text not null,
      waiting smallint not null default 0,
      stop_reason text,
      error text,
      background smallint not null,
      metadata text not null,
      callback_url text,
      callback_reach text,
      callback_due_at bigint,
      callback_tries integer not null default 0,
      callback_sent_at bigint,
      callback_status_code integer,
      callback_error text,
      created_at bigint not null,
      started_at bigint,
      completed_at bigint,
      expires_at bigint,
      fence integer not null,
      lease_owner text,
      next_seq integer not null,
      deaths integer not null default 0,
      chunk_bound integer not null default 10000,
      continues text,
      queue_rank smallint not null,
      idempotency_key text,
      request_digest text
    )`,
    // At most one active run per conversation: the database refuses a second.
    `create unique index runs_active on runs (conversation_id) where (status = 'running' or waiting = 1)`,
    `create unique index runs_by_key on runs (conversation_id, idempotency_key) where idempotency_key is not null`,
    `create index runs_queue on runs (queue_rank, number, conversation_id) where status = 'created'`,
    `create index runs_queue_of_conversation on runs (conversation_id, queue_rank, number) where status = 'created'`,
    `create index runs_running on runs (number) where status = 'running'`,
    'create index runs_expiring on runs (expires_at) where waiting = 1',
    'create index runs_by_conversation on runs (conversation_id, number)',
    'create index runs_by_agent on runs (agent_id, number)',
    `create index runs_callbacks on runs (callback_due_at)
      where callback_due_at is not null and status in ('completed', 'failed', 'cancelled')`,

    `create table steered_requests (
      organization_id text not null,
      conversation_id text not null,
      idempotency_key text not null,
      request_digest text not null,
      run_id text not null,
      primary key (conversation_id, idempotency_key)
    ) ${clustered}`,

    // A client-supplied input id belongs to one run: the database refuses a second.
    `create table run_otids (
      conversation_id text not null,
      otid text not null,
      organization_id text not null,
      run_id text not null,
      request_digest text not null,
      primary key (conversation_id, otid)
    ) ${clustered}`,

    `create table run_requests (
      run_id text not null primary key,
      organization_id text not null,
      conversation_id text not null,
      fingerprint text not null,
      answered smallint not null,
      created_at bigint not null
    ) ${clustered}`,
    'create index run_requests_by_fingerprint on run_requests (conversation_id, fingerprint, created_at)',

    `create table steps (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      run_id text not null,
      run_number bigint not null,
      agent_id text not null,
      status text not null,
      model_handle text not null,
      prompt_tokens bigint not null,
      completion_tokens bigint not null,
      cached_input_tokens bigint,
      cache_write_tokens bigint,
      reasoning_tokens bigint,
      stop_reason text,
      error_data text,
      feedback text,
      tags text,
      created_at bigint not null
    )`,
    'create index steps_by_run on steps (run_number, number)',

    // By the run's number and not its id: the rows of active runs are neighbors, so a commit of many runs touches few
    // pages (measured on SQLite: 26 µs per append against 41). Not clustered: bodies would split pages.
    `create table events (
      run_number bigint not null,
      seq integer not null,
      organization_id text not null,
      at bigint not null,
      type text not null,
      body text not null,
      commit_id text not null,
      primary key (run_number, seq)
    )`,

    // A fork has its own rows for copied messages; callers know a copy by the id of its original.
    `create table messages (
      id text not null primary key,
      organization_id text not null,
      agent_id text not null,
      conversation_id text not null,
      run_id text not null,
      run_number bigint not null,
      step_id text,
      position integer not null,
      role text not null,
      body text not null,
      created_at bigint not null,
      copy_of text
    )`,
    'create unique index messages_in_order on messages (conversation_id, position)',
    'create index messages_by_run on messages (run_number)',
    'create index messages_copies on messages (copy_of, conversation_id) where copy_of is not null',

    'create table workers (id text not null primary key, expires_at bigint not null)',

    `create table blocks (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      label text not null,
      value text not null,
      char_limit integer not null,
      description text,
      read_only smallint not null,
      tags text not null,
      metadata text not null,
      hidden smallint,
      template_name text,
      is_template smallint not null,
      version integer not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create index blocks_by_label on blocks (organization_id, label, number)',

    `create table agent_blocks (
      agent_id text not null,
      block_id text not null,
      label text not null,
      position integer not null,
      primary key (agent_id, block_id)
    ) ${clustered}`,
    'create unique index agent_blocks_by_label on agent_blocks (agent_id, label)',
    'create index agent_blocks_by_block on agent_blocks (block_id)',

    // sealed_secrets holds tokens, headers and variables as ciphertext.
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

    `create table tools (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      name text not null,
      tool_type text not null,
      mcp_server_id text,
      body text not null,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index tools_by_name on tools (organization_id, name)',
    'create index tools_by_mcp_server on tools (mcp_server_id)',

    // Secrets are ciphertext; the key is in a file of the home.
    `create table credentials (
      number ${identity},
      id text not null unique,
      organization_id text not null,
      provider text not null,
      label text not null,
      kind text not null,
      source text not null,
      sealed_secret text not null,
      sealed_refresh_token text,
      expires_at bigint,
      priority integer not null,
      dead_reason text,
      dead_detail text,
      use_count bigint not null,
      last_used_at bigint,
      oauth text,
      generation integer not null,
      refreshing_by text,
      refreshing_until bigint,
      refresh_failure text,
      created_at bigint not null,
      updated_at bigint not null
    )`,
    'create unique index credentials_by_label on credentials (organization_id, provider, label)',

    `create table cooldowns (
      organization_id text not null,
      scope text not null,
      key text not null,
      provider text not null,
      reason text not null,
      detail text not null,
      until bigint not null,
      run_id text,
      created_at bigint not null,
      primary key (organization_id, scope, key)
    ) ${clustered}`,
    'create index cooldowns_by_provider on cooldowns (organization_id, provider)',

    `create table model_notes (
      organization_id text not null,
      provider text not null,
      model text not null,
      notes text not null,
      primary key (organization_id, provider, model)
    ) ${clustered}`,

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

    // Only the digest of a key is stored: a reader of this table cannot use the key.
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

    ...passageTables({ name, identity, clustered }),
    ...messageIndexTables({ name, identity, clustered }),
  ],
}
