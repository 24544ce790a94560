import type { Generated, Selectable } from 'kysely'
import type { Change, ChangedKind } from '../../core/change.ts'
import type {
  AgentId,
  BlockId,
  ConversationId,
  MessageId,
  OrganizationId,
  RunId,
  ScheduleId,
  StepId,
  WorkerId,
} from '../../core/id.ts'
import type { MessageRole } from '../../core/message.ts'
import type { AddressTrust } from '../../ports/safe-fetch.ts'
import type { AgentRow } from './agent-row.ts'
import type { BlockRow, BlockVersionRow } from './block-row.ts'
import type { ConversationRow } from './conversation-row.ts'
import type { CooldownRow, CredentialRow } from './credential-row.ts'
import type { GatewayTables } from './gateway-rows.ts'
import type { HookDeliveryRow, HookRow } from './hook-row.ts'
import type { ImportObjectRow, ImportRow } from './import-row.ts'
import type { McpServerRow } from './mcp-server-row.ts'
import type { ModelNoteRow } from './model-note-row.ts'
import type { ApiKeyRow, AuditRow, OrganizationRow, UserRow, WebhookSecretRow } from './people-rows.ts'
import type { RunRow } from './run-row.ts'
import type { ScheduleRow, SettledInstantRow } from './schedule-row.ts'
import type { SearchTables } from './search-tables.ts'
import type { StepRow } from './step-row.ts'
import type { ToolRow } from './tool-row.ts'
import type { DeliveryRow, WebhookRow } from './webhook-row.ts'

type FurtherTables = SearchTables & GatewayTables<Numbered>

/** All tables. A table whose rows become objects has its columns in a `*-row.ts` file. */
export type Tables = FurtherTables & {
  agents: Numbered & AgentRow
  conversations: ConversationsTable
  runs: RunsTable
  steered_requests: SteeredRequestsTable
  steers: SteersTable
  run_otids: RunOtidsTable
  run_requests: RunRequestsTable
  asked_calls: AskedCallsTable
  steps: StepsTable
  events: EventsTable
  messages: MessagesTable
  workers: WorkersTable
  credentials: CredentialsTable
  cooldowns: { organization_id: OrganizationId } & CooldownRow
  model_notes: ModelNotesTable
  blocks: Numbered & BlockRow
  block_versions: { block_id: BlockId; organization_id: OrganizationId; value: string } & BlockVersionRow
  agent_blocks: AgentBlocksTable
  agent_tags: AgentTagsTable
  tools: Numbered & ToolRow
  mcp_servers: Numbered & McpServerRow
  organizations: Numbered & OrganizationRow
  organization_policies: OrganizationPoliciesTable
  erasures: Numbered & { organization_id: OrganizationId; agent_id: AgentId }
  spending: SpendingTable
  /** Written by triggers only; on PostgreSQL a row for each connection that wrote. */
  stored_bytes: { organization_id: OrganizationId; writer: number; bytes: number }
  users: Numbered & UserRow
  api_keys: Numbered & ApiKeyRow
  audit_log: Numbered & AuditRow
  webhook_secrets: Numbered & WebhookSecretRow
  audit_heads: { organization_id: OrganizationId; sequence: number; hash: string }
  imports: ImportsTable
  import_objects: { import_number: number } & ImportObjectRow
  stream_heads: StreamHeadsTable
  chunks: ChunksTable
  changes: ChangesTable
  schedules: Numbered & ScheduleRow
  schedule_instants: { schedule_id: ScheduleId; organization_id: OrganizationId } & SettledInstantRow
  hooks: Numbered & HookRow
  hook_deliveries: Numbered & HookDeliveryRow
  webhooks: Numbered & WebhookRow
  webhook_deliveries: Numbered & DeliveryRow
  openai_requests: OpenaiRequestsTable
  openai_conversations: OpenaiConversationsTable
  openai_deleted_responses: { run_id: RunId; organization_id: OrganizationId }
  homes: { id: string }
  change_marks: { number: number; at: number; pruned: number }
}

/** Written by triggers only. */
export type ChangesTable = Numbered & {
  txid: Generated<number>
  organization_id: OrganizationId
  kind: ChangedKind
  subject_id: string
  agent_id: AgentId | null
  conversation_id: ConversationId | null
  verb: Change['verb']
}

/** A row to insert, without the number that the database assigns. */
export type NewRow<Name extends keyof Tables> = Omit<Selectable<Tables[Name]>, 'number'>

/** Insertion order, which lists are sorted by. */
type Numbered = { number: Generated<number> }

/** Columns with a default value. */
type WithDefaults<Row, Column extends keyof Row> = Omit<Row, Column> & { [Name in Column]: Generated<Row[Name]> }

type ConversationsTable = Numbered &
  ConversationRow & {
    /** Null: the next turn compiles it. */
    system_prompt: string | null
    /** Soft-deleted. */
    deleted_at: number | null
  }

type RunsTable = WithDefaults<RunRow, 'number' | 'waiting' | 'deaths' | 'chunk_bound'> & {
  /** Which addresses the webhook may reach. */
  callback_reach: AddressTrust | null
  /** 0 for a run that must go next (it continues after an approval, interrupts, or was steered), 1 for any other. */
  queue_rank: number
  idempotency_key: string | null
  request_digest: string | null
}

/** Requests that joined the run `run_id`. Their ids are those of the runs they get if it does not read them. */
type SteersTable = {
  id: RunId
  organization_id: OrganizationId
  conversation_id: ConversationId
  run_id: RunId
}

/** Idempotency keys of requests that steered a run and so have no run row; `run_id` is the id of the request. */
type SteeredRequestsTable = {
  organization_id: OrganizationId
  conversation_id: ConversationId
  idempotency_key: string
  request_digest: string
  run_id: RunId
}

/** Client-supplied input ids: each belongs to one request of its conversation, which opened or joined a run. */
type RunOtidsTable = {
  conversation_id: ConversationId
  otid: string
  organization_id: OrganizationId
  run_id: RunId
  request_digest: string
}

/** The conversation of the newest request with this fingerprint, of those that name none. */
type OpenaiRequestsTable = {
  organization_id: OrganizationId
  fingerprint: string
  conversation_id: ConversationId
  awaits_original: number
  placed_at: number
}

type OpenaiConversationsTable = {
  id: ConversationId
  organization_id: OrganizationId
  /** JSON. */
  metadata: string
  items: string
  created_at: number
}

/** Identifies retries without otids. */
type RunRequestsTable = {
  run_id: RunId
  organization_id: OrganizationId
  conversation_id: ConversationId
  fingerprint: string
  /** 1 once the whole response was sent. */
  answered: number
  /** 1 if a retry opened the run and its original has not been seen. */
  awaits_original: number
  created_at: number
}

/** The calls that a person was asked about, with the run that asked. */
type AskedCallsTable = {
  conversation_id: ConversationId
  call_id: string
  organization_id: OrganizationId
  run_id: RunId
}

type StepsTable = Numbered & StepRow & { organization_id: OrganizationId; run_number: number }

/** Keyed by the run's number: random ids would touch one page each, while numbers of active runs are adjacent. */
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
  /** Id of the original in another conversation; callers know the copy by this id. */
  copy_of: MessageId | null
}

type WorkersTable = { id: WorkerId; expires_at: number }

type CredentialsTable = Numbered & CredentialRow & { refreshing_until: number | null }

type ModelNotesTable = ModelNoteRow & { organization_id: OrganizationId }

type ImportsTable = Numbered &
  ImportRow & {
    /** The origin as one text. */
    source: string
    sealed_key: string | null
    /** The worker that carries it out, while that is alive. */
    runner: WorkerId | null
    /** Grows with each claim and stop, and rejects the writes of earlier ones. */
    fence: number
  }

/** The label is repeated here so that a unique index rejects a duplicate on the same agent. */
type AgentBlocksTable = { agent_id: AgentId; block_id: BlockId; label: string; position: number }

type AgentTagsTable = { organization_id: OrganizationId; agent_id: AgentId; tag: string }

type StreamHeadsTable = {
  run_id: RunId
  fence: number
  last: number
  last_event: number
  ended: number
  ended_at: number | null
  /** Boot id under which the last chunk was written; '' before the first chunk and on systems without one. */
  boot_id: string
}

type ChunksTable = { run_id: RunId; first: number; last: number; bodies: string }

/** What an operator has set for one organization, as JSON. */
type OrganizationPoliciesTable = { organization_id: OrganizationId; policy: string }

/** What model requests of one day cost. `account` is '' for the organization, a key, or a model without a price. */
type SpendingTable = {
  organization_id: OrganizationId
  day: string
  account: string
  micro_dollars: number
  tokens: number
}
