import type { AccountLease, AccountState, GatewayAccount } from '../core/gateway/account.ts'
import type { ApprovalToken } from '../core/gateway/approval-token.ts'
import type { ChatFile } from '../core/gateway/chat-file.ts'
import type { Identity, PersonId } from '../core/gateway/identity.ts'
import type { InboundReason, InboundRow, InboundState } from '../core/gateway/inbound.ts'
import type { RawUpdate } from '../core/gateway/incoming.ts'
import type { NewOutbound, OutboundBody, OutboundRow, OutboundState, SendProgress } from '../core/gateway/outbound.ts'
import type { Pairing } from '../core/gateway/pairing.ts'
import type { PlatformName } from '../core/gateway/platforms.ts'
import type { ChatAddress, ChatSession, Delivery } from '../core/gateway/session.ts'
import type { ConversationId, OrganizationId, RunId, WorkerId } from '../core/id.ts'

type AccountName = { organizationId: OrganizationId; account: string }

export type AccountChange = {
  state: AccountState
  detail?: string
  botId?: string
  botName?: string
  lastSuccessAt?: number
  nextTryAt?: number
  at: number
}

/** The result of a call to the platform, for the row that was `sending`. */
export type SendResult = {
  number: number
  /** The version that was sent: a row that was revised meanwhile becomes `pending` again. */
  version: number
  at: number
} & SendProgress

/** One change of the gateway's rows. Those of one commit are written together. */
export type GatewayChange =
  | {
      type: 'end-inbound'
      numbers: readonly number[]
      reason?: InboundReason
      runId?: RunId
      conversationId?: ConversationId
      at: number
    }
  /** These rows are one message, which the platform split. */
  | { type: 'join-inbound'; numbers: readonly number[]; head: number }
  | { type: 'note-inbound'; number: number; note: string; dueAt: number }
  /** Messages of the lane that still wait keep this conversation when its session begins another one. */
  | { type: 'pin-lane'; lane: string; before: number; conversationId: ConversationId }
  /** The messages of a lane that have not reached a run end without one. */
  | { type: 'drop-lane'; lane: string; before: number; at: number }
  | { type: 'save-session'; session: ChatSession }
  /** Nothing if there is a session with this key. */
  | { type: 'add-session'; session: ChatSession }
  /** The last message of the session came from here. */
  | { type: 'touch-session'; key: string; address: ChatAddress; at: number }
  | { type: 'move-chat'; from: string; to: string }
  /** Nothing if the run has one: it may be further already. */
  | { type: 'add-delivery'; delivery: Delivery }
  /** A delivery that has ended stays so. */
  | { type: 'save-delivery'; delivery: Delivery }
  /** Nothing if the account has a message with this key. */
  | { type: 'add-outbound'; message: NewOutbound }
  /** Nothing if the content is the same. `account`: of the message, if another one than that of the commit. */
  | { type: 'revise-outbound'; key: string; body: OutboundBody; at: number; account?: string }
  | { type: 'told-unknown'; chatId: string }
  | { type: 'add-token'; token: ApprovalToken }
  /** The buttons are elsewhere now and those before have no effect; nothing if one of them was pressed. */
  | { type: 'move-token'; from: string; to: ApprovalToken }
  | { type: 'save-pairing'; pairing: Pairing }
  | { type: 'save-identity'; identity: Identity }
  /** This account of a person joins the person who was shown the code, with all accounts of its own; the code ends. */
  | { type: 'link-identity'; identity: Identity; code: string; former?: PersonId }

export type InboundFilter = { account?: string; state?: InboundState; before?: number; limit: number }
export type OutboundFilter = { account?: string; states?: OutboundState[]; before?: number; limit: number }

export type GatewayCounts = {
  account: string
  pendingInbound: number
  oldestInboundAt?: number
  openOutbound: number
  oldestOutboundAt?: number
  unknownOutbound: number
  openDeliveries: number
}

/** Rows of the gateway. Writes of an owner carry its lease: `false` means another process owns the account now. */
export type GatewayStore = {
  /** Creates the account if it is new. */
  ensure(account: AccountName & { platform: PlatformName; at: number }): Promise<void>
  accounts(organizationId: OrganizationId): Promise<GatewayAccount[]>
  /**
   * Takes the account for this worker if no live worker owns it; the fence grows by one unless the worker owns it
   * already. Undefined: another process owns it.
   */
  claim(name: AccountName, owner: WorkerId): Promise<GatewayAccount | undefined>
  /** Gives it back, so that another process can take it without waiting. */
  release(lease: AccountLease, change: AccountChange): Promise<boolean>
  setAccount(lease: AccountLease, change: AccountChange): Promise<boolean>
  /**
   * Stores updates and the cursor behind them in one commit. Updates that are stored already are left as they are.
   * Without a lease (a webhook), no cursor moves.
   */
  accept(
    account: AccountName & { fence?: number; cursor?: string; botId?: string; at: number },
    updates: readonly RawUpdate[],
  ): Promise<boolean>
  /** The oldest pending updates. */
  pending(name: AccountName, limit: number): Promise<InboundRow[]>
  /** Whether an earlier update of the account has this message. */
  isRepeated(name: AccountName, row: Pick<InboundRow, 'messageKey' | 'number'>): Promise<boolean>
  commit(lease: AccountLease, changes: readonly GatewayChange[]): Promise<boolean>
  /** Adds a message without owning the account: its owner sends it. */
  add(message: NewOutbound): Promise<void>
  /** Messages to send, in the order in which they were added. */
  open(name: AccountName, limit: number): Promise<OutboundRow[]>
  /** `pending` becomes `sending`. Undefined: the lease is lost, or the row is no longer pending. */
  beginSend(lease: AccountLease, number: number, at: number): Promise<OutboundRow | undefined>
  endSend(lease: AccountLease, result: SendResult): Promise<boolean>
  outbound(name: AccountName, key: string): Promise<OutboundRow | undefined>
  /** Messages to this chat that may be missing, and of which it was not told. */
  untold(name: AccountName, chatId: string): Promise<OutboundRow[]>
  session(name: AccountName, key: string): Promise<ChatSession | undefined>
  sessions(organizationId: OrganizationId, account: string | undefined, limit: number): Promise<ChatSession[]>
  /** Runs whose outcome is owed. */
  deliveries(name: AccountName, limit: number): Promise<Delivery[]>
  delivery(organizationId: OrganizationId, runId: RunId): Promise<Delivery | undefined>
  pairing(name: AccountName, senderId: string): Promise<Pairing | undefined>
  pairings(organizationId: OrganizationId): Promise<Pairing[]>
  /** Changes the pairing as the function says, in one transaction. Undefined: there is none. */
  decidePairing(
    name: AccountName,
    senderId: string,
    decide: (pairing: Pairing) => Pairing | 'delete',
  ): Promise<Pairing | undefined>
  identity(name: AccountName, senderId: string): Promise<Identity | undefined>
  identities(organizationId: OrganizationId): Promise<Identity[]>
  /** All accounts of a person. */
  identitiesOf(organizationId: OrganizationId, personId: PersonId): Promise<Identity[]>
  /** Who was shown this code last. */
  identityByCode(organizationId: OrganizationId, code: string): Promise<Identity | undefined>
  removeIdentity(name: AccountName, senderId: string): Promise<boolean>
  token(organizationId: OrganizationId, token: string): Promise<ApprovalToken | undefined>
  tokensOf(organizationId: OrganizationId, runId: RunId): Promise<ApprovalToken[]>
  /** Records a decision unless there is one. Answers with the decision that counts. */
  decide(
    organizationId: OrganizationId,
    decision: { token: string; decision: 'approve' | 'deny'; by: string; at: number },
  ): Promise<ApprovalToken | undefined>
  /** Whether the outcome of runs in this conversation is owed to a chat. */
  isOfChat(organizationId: OrganizationId, conversationId: ConversationId): Promise<boolean>
  /** Stores a file with its bytes; nothing if there is one with this id. `too-many`: the run has `most` others. */
  addFile(file: ChatFile, bytes: Uint8Array, most: number): Promise<'stored' | 'too-many'>
  /** Files of a run in the order in which they were stored. */
  filesOf(runId: RunId): Promise<ChatFile[]>
  fileBytes(organizationId: OrganizationId, id: string): Promise<Uint8Array | undefined>
  removeFile(organizationId: OrganizationId, id: string): Promise<void>
  inbound(organizationId: OrganizationId, filter: InboundFilter): Promise<InboundRow[]>
  sent(organizationId: OrganizationId, filter: OutboundFilter): Promise<OutboundRow[]>
  counts(organizationId: OrganizationId): Promise<GatewayCounts[]>
  /** Removes rows that ended before this moment; returns how many. */
  prune(name: AccountName, before: number): Promise<number>
}
