import type { GatewayAccount } from '../../core/gateway/account.ts'
import type { ApprovalToken } from '../../core/gateway/approval-token.ts'
import type { ChatFile } from '../../core/gateway/chat-file.ts'
import type { Identity } from '../../core/gateway/identity.ts'
import type { InboundRow } from '../../core/gateway/inbound.ts'
import type { OutboundRow } from '../../core/gateway/outbound.ts'
import type { Pairing } from '../../core/gateway/pairing.ts'
import type { ChatSession, Delivery } from '../../core/gateway/session.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const GATEWAY_ACCOUNT = rowMapper<GatewayAccount>()({
  organizationId: 'organization_id',
  name: 'name',
  platform: 'platform',
  state: 'state',
  detail: 'detail',
  botId: 'bot_id',
  botName: 'bot_name',
  cursor: 'cursor_value',
  owner: 'owner',
  fence: 'fence',
  lastSuccessAt: 'last_success_at',
  nextTryAt: 'next_try_at',
  updatedAt: 'updated_at',
})

/** The number is assigned by the database. */
export const GATEWAY_INBOUND = rowMapper<Omit<InboundRow, 'number'>>()({
  organizationId: 'organization_id',
  account: 'account',
  key: 'update_key',
  lane: 'lane',
  messageKey: 'message_key',
  senderId: 'sender_id',
  kind: 'kind',
  raw: 'raw',
  receivedAt: 'received_at',
  dueAt: 'due_at',
  state: 'state',
  reason: 'reason',
  note: 'note',
  head: 'head',
  conversationId: 'conversation_id',
  runId: 'run_id',
  endedAt: 'ended_at',
})

export const GATEWAY_OUTBOUND = rowMapper<Omit<OutboundRow, 'number'>>()({
  organizationId: 'organization_id',
  account: 'account',
  key: 'message_key',
  chatId: 'chat_id',
  thread: 'thread',
  replyTo: 'reply_to',
  isPrivate: { flag: 'is_private' },
  runId: 'run_id',
  body: { json: 'body' },
  version: 'version',
  state: 'state',
  messageId: 'message_id',
  attempts: 'attempts',
  failures: 'failures',
  lost: 'lost',
  isPlain: { flag: 'is_plain' },
  dueAt: 'due_at',
  error: 'error',
  isTold: { flag: 'is_told' },
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export const GATEWAY_SESSION = rowMapper<ChatSession>()({
  organizationId: 'organization_id',
  account: 'account',
  key: 'session_key',
  chatId: 'chat_id',
  thread: 'thread',
  isPrivate: { flag: 'is_private' },
  title: 'title',
  agentId: 'agent_id',
  conversationId: 'conversation_id',
  busy: 'busy',
  createdAt: 'created_at',
  lastAt: 'last_at',
})

export const GATEWAY_DELIVERY = rowMapper<Delivery>()({
  runId: 'run_id',
  organizationId: 'organization_id',
  account: 'account',
  chatId: 'chat_id',
  thread: 'thread',
  isPrivate: { flag: 'is_private' },
  replyTo: 'reply_to',
  conversationId: 'conversation_id',
  state: 'state',
  after: 'after_run',
  isUnprompted: { flag: 'is_unprompted' },
  createdAt: 'created_at',
})

export const GATEWAY_PAIRING = rowMapper<Pairing>()({
  organizationId: 'organization_id',
  account: 'account',
  senderId: 'sender_id',
  name: 'name',
  state: 'state',
  code: 'code',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  approvedBy: 'approved_by',
})

export const GATEWAY_IDENTITY = rowMapper<Identity>()({
  organizationId: 'organization_id',
  account: 'account',
  senderId: 'sender_id',
  chatId: 'chat_id',
  personId: 'person_id',
  name: 'name',
  linkedAt: 'linked_at',
  code: 'code',
  codeExpiresAt: 'code_expires_at',
})

export const GATEWAY_TOKEN = rowMapper<ApprovalToken>()({
  token: 'token',
  organizationId: 'organization_id',
  account: 'account',
  runId: 'run_id',
  callId: 'call_id',
  digest: 'digest',
  chatId: 'chat_id',
  tool: 'tool',
  messageKey: 'message_key',
  createdAt: 'created_at',
  decision: 'decision',
  decidedBy: 'decided_by',
  decidedAt: 'decided_at',
})

/** Without its content, which only the call that sends it reads. */
export const GATEWAY_FILE = rowMapper<ChatFile>()({
  id: 'file_id',
  organizationId: 'organization_id',
  conversationId: 'conversation_id',
  runId: 'run_id',
  callId: 'call_id',
  name: 'name',
  mediaType: 'media_type',
  bytes: 'bytes',
  createdAt: 'created_at',
})

export type GatewayTables<Number> = {
  gateway_accounts: RowOf<typeof GATEWAY_ACCOUNT>
  gateway_inbound: Number & RowOf<typeof GATEWAY_INBOUND>
  gateway_outbound: Number & RowOf<typeof GATEWAY_OUTBOUND>
  gateway_sessions: RowOf<typeof GATEWAY_SESSION>
  gateway_deliveries: RowOf<typeof GATEWAY_DELIVERY>
  gateway_pairings: RowOf<typeof GATEWAY_PAIRING>
  gateway_identities: RowOf<typeof GATEWAY_IDENTITY>
  gateway_tokens: RowOf<typeof GATEWAY_TOKEN>
  gateway_files: RowOf<typeof GATEWAY_FILE> & { content: string }
}
