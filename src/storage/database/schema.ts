import type { Generated, Selectable } from 'kysely'
import type { AuditId, AuditOutcome } from '../../core/audit.ts'
import type { Cooldown, Credential, CredentialId } from '../../core/credential.ts'
import type {
  AgentId,
  BlockId,
  ConversationId,
  McpServerId,
  MessageId,
  OrganizationId,
  RunId,
  StepId,
  ToolId,
  WorkerId,
} from '../../core/id.ts'
import type { MessageRole } from '../../core/message.ts'
import type { BuiltInActor, KeyId, Scope, UserId } from '../../core/people.ts'
import type { StepStatus } from '../../core/projection.ts'
import type { RunStatus, StopReason } from '../../core/run.ts'
import type { TargetHandle } from '../../core/target.ts'
import type { SearchTables } from './search-tables.ts'

/** Times are milliseconds, booleans 0 or 1 and JSON is text, in both databases. */
export type Tables = SearchTables & {
  agents: AgentsTable
  conversations: ConversationsTable
  runs: RunsTable
  steered_requests: SteeredRequestsTable
  run_otids: RunOtidsTable
  run_requests: RunRequestsTable
  steps: StepsTable
  events: EventsTable
  messages: MessagesTable
  workers: WorkersTable
  credentials: CredentialsTable
  cooldowns: CooldownsTable
  model_notes: ModelNotesTable
  blocks: BlocksTable
  agent_blocks: AgentBlocksTable
  agent_tags: AgentTagsTable
  tools: ToolsTable
  mcp_servers: McpServersTable
  organizations: OrganizationsTable
  users: UsersTable
  api_keys: ApiKeysTable
  audit_log: AuditLogTable
  stream_heads: StreamHeadsTable
  chunks: ChunksTable
}

/** A row as it is written: the database gives it its number. */
export type NewRow<Name extends keyof Tables> = Omit<Selectable<Tables[Name]>, 'number'>

type AgentsTable = {
  /** Order of insertion: what lists are sorted by. */
  number: Generated<number>
  id: AgentId
  organization_id: OrganizationId
  name: string
  system: string
  model: TargetHandle
  fallback: string
  tools: string
  settings: Generated<string>
  created_at: number
  updated_at: number
  sealed_secrets: Generated<string | null>
}

type ConversationsTable = {
  number: Generated<number>
  id: ConversationId
  organization_id: OrganizationId
  agent_id: AgentId
  is_default: number
  created_at: number
  last_message_at: number | null
  context_start: number
  next_position: number
  /** Null: to be compiled when it is needed next. */
  system_prompt: Generated<string | null>
  summary: Generated<string | null>
  /** JSON: what only this conversation says of itself. */
  details: Generated<string>
  archived_at: Generated<number | null>
  /** It is not there for anybody any more; its rows stay. */
  deleted_at: Generated<number | null>
  updated_at: Generated<number | null>
}

type RunsTable = {
  number: Generated<number>
  id: RunId
  organization_id: OrganizationId
  agent_id: AgentId
  conversation_id: ConversationId
  project_id: Generated<string | null>
  base_template_id: Generated<string | null>
  status: RunStatus
  /** 1 while an approval is open. */
  waiting: Generated<number>
  stop_reason: Generated<StopReason | null>
  error: Generated<string | null>
  background: number
  metadata: string
  request_config: Generated<string | null>
  callback_url: Generated<string | null>
  callback_sent_at: Generated<number | null>
  callback_status_code: Generated<number | null>
  callback_error: Generated<string | null>
  callback_reach: Generated<string | null>
  callback_due_at: Generated<number | null>
  callback_tries: Generated<number>
  ttft_ns: Generated<number | null>
  total_duration_ns: Generated<number | null>
  created_at: number
  started_at: number | null
  completed_at: Generated<number | null>
  expires_at: Generated<number | null>
  fence: number
  lease_owner: WorkerId | null
  next_seq: number
  deaths: Generated<number>
  chunk_bound: Generated<number>
  continues: RunId | null
  /** 0 for a run that continues after an approval, 1 for every other: the former go first. */
  queue_rank: number
  idempotency_key: string | null
  request_digest: string | null
}

/** Keys of requests that became steering and so have no run of their own. */
type SteeredRequestsTable = {
  organization_id: OrganizationId
  conversation_id: ConversationId
  idempotency_key: string
  request_digest: string
  run_id: RunId
}

/** The client's names of inputs: each belongs to one run of its conversation. */
type RunOtidsTable = {
  conversation_id: ConversationId
  otid: string
  organization_id: OrganizationId
  run_id: RunId
  request_digest: string
}

/** What a retry that names nothing is recognised by. */
type RunRequestsTable = {
  run_id: RunId
  organization_id: OrganizationId
  conversation_id: ConversationId
  fingerprint: string
  /** 1 once the whole response was handed to the network. */
  answered: number
  created_at: number
}

type StepsTable = {
  number: Generated<number>
  id: StepId
  organization_id: OrganizationId
  run_id: RunId
  run_number: number
  agent_id: AgentId
  status: StepStatus
  origin: Generated<string | null>
  provider_id: Generated<string | null>
  provider_name: string
  provider_category: Generated<string | null>
  model: string
  model_handle: string
  model_endpoint: Generated<string | null>
  context_window_limit: Generated<number | null>
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cached_input_tokens: number | null
  cache_write_tokens: Generated<number | null>
  reasoning_tokens: number | null
  prompt_tokens_details: Generated<string | null>
  completion_tokens_details: Generated<string | null>
  stop_reason: StopReason | null
  tags: Generated<string | null>
  tid: Generated<string | null>
  trace_id: Generated<string | null>
  request_id: Generated<string | null>
  feedback: Generated<string | null>
  project_id: Generated<string | null>
  error_type: string | null
  error_data: string | null
  created_at: number
}

/** Keyed by the run's number: random ids would touch a page each, numbers of active runs lie side by side. */
type EventsTable = {
  run_number: number
  seq: number
  organization_id: OrganizationId
  at: number
  type: string
  body: string
  commit_id: string
}

type MessagesTable = {
  id: MessageId
  organization_id: OrganizationId
  agent_id: AgentId
  conversation_id: ConversationId
  run_id: RunId
  run_number: number
  step_id: StepId | null
  position: number
  role: MessageRole
  body: string
  otid: string | null
  created_at: number
  /** The message of another conversation this is a copy of, and the id it is known by. */
  copy_of: Generated<MessageId | null>
}

type WorkersTable = { id: WorkerId; expires_at: number }

type CredentialsTable = {
  number: Generated<number>
  id: CredentialId
  organization_id: OrganizationId
  provider: string
  label: string
  kind: Credential['kind']
  source: Credential['source']
  sealed_secret: string
  sealed_refresh_token: string | null
  expires_at: number | null
  priority: number
  /** Absent while it is alive. */
  dead_reason: string | null
  dead_detail: string | null
  use_count: number
  last_used_at: number | null
  oauth: string | null
  generation: number
  refreshing_by: Generated<string | null>
  refreshing_until: Generated<number | null>
  refresh_failure: Generated<string | null>
  created_at: number
  updated_at: number
}

type CooldownsTable = {
  organization_id: OrganizationId
  scope: Cooldown['scope']
  key: string
  provider: string
  reason: Cooldown['reason']
  detail: string
  until: number
  run_id: RunId | null
  created_at: number
}

type ModelNotesTable = { organization_id: OrganizationId; provider: string; model: string; notes: string }

type BlocksTable = {
  number: Generated<number>
  id: BlockId
  organization_id: OrganizationId
  label: string
  value: string
  char_limit: number
  description: string | null
  read_only: number
  tags: string
  metadata: string
  hidden: number | null
  template_name: string | null
  is_template: number
  version: number
  created_at: number
  updated_at: number
}

/** The label is kept here too, so that the database refuses a second one on the same agent. */
type AgentBlocksTable = { agent_id: AgentId; block_id: BlockId; label: string; position: number }

type AgentTagsTable = { organization_id: OrganizationId; agent_id: AgentId; tag: string }

type ToolsTable = {
  number: Generated<number>
  id: ToolId
  organization_id: OrganizationId
  name: string
  tool_type: string
  mcp_server_id: McpServerId | null
  body: string
  created_at: number
  updated_at: number
}

type McpServersTable = {
  number: Generated<number>
  id: McpServerId
  organization_id: OrganizationId
  name: string
  place: string
  /** Ciphertext; null where there is nothing to keep. */
  sealed_secrets: string | null
  contact: string
  revision: number
  created_at: number
  updated_at: number
}

type OrganizationsTable = { number: Generated<number>; id: OrganizationId; name: string; created_at: number }

type UsersTable = {
  number: Generated<number>
  id: UserId
  organization_id: OrganizationId
  name: string
  created_at: number
}

type ApiKeysTable = {
  number: Generated<number>
  id: KeyId
  organization_id: OrganizationId
  user_id: UserId | null
  name: string
  scope: Scope
  prefix: string
  digest: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
}

type AuditLogTable = {
  number: Generated<number>
  id: AuditId
  organization_id: OrganizationId
  at: number
  actor: KeyId | BuiltInActor | 'unknown'
  user_id: UserId | null
  from_address: string | null
  verb: string
  object: string | null
  outcome: AuditOutcome
  status: number | null
  request_id: string | null
}

type StreamHeadsTable = {
  run_id: RunId
  fence: number
  last: number
  last_event: number
  ended: number
  ended_at: number | null
  /** The machine's start during which the last chunk was written; '' before the first and where there is none. */
  boot_id: string
}

type ChunksTable = { run_id: RunId; first: number; last: number; bodies: string }
