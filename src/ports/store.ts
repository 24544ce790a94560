import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId, RunId, StepId, WorkerId } from '../core/id.ts'
import type { Message, NewMessage } from '../core/message.ts'
import type { NewStep, ProjectedEvent } from '../core/projection.ts'
import type { RowRepair } from '../core/repair.ts'
import type { Run, RunPhase, RunStatus, StopReason } from '../core/run.ts'
import type { AgentContents, AgentEdit, AgentFilter, TagStore } from './agent-store.ts'
import type { BlockStore } from './block-store.ts'
import type { ChangeStore } from './change-store.ts'
import type { CooldownStore, CredentialStore, ModelNoteStore } from './credential-store.ts'
import type { ErasureStore } from './erasure-store.ts'
import type { GatewayStore } from './gateway-store.ts'
import type { HookStore } from './hook-store.ts'
import type { IdStore } from './id-store.ts'
import type { ImportStore } from './import-store.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { McpServerStore } from './mcp-store.ts'
import type { MessageSearchStore } from './message-search-store.ts'
import type { ModelUsage } from './model-usage.ts'
import type { OpenaiStore } from './openai-store.ts'
import type { PassageStore } from './passage-store.ts'
import type { AuditLog, KeyStore, PeopleStore, WebhookSecretStore } from './people-store.ts'
import type { PromptStore } from './prompt-store.ts'
import type { NewRun, OpenedRun, OpenRun, QueueQuota, RequestIdentity } from './run-intake.ts'
import type { ScheduleStore } from './schedule-store.ts'
import type { SessionStore } from './session-store.ts'
import type { ShareStore } from './shares.ts'
import type { StoredToolStore } from './tool-store.ts'
import type { ToolWriteStore } from './tool-write-store.ts'
import type { WebhookStore } from './webhook-store.ts'

export type { CooldownStore, CredentialStore, ModelNoteStore, NewRun, OpenedRun, OpenRun, QueueQuota, RequestIdentity }

/** The database. Every method may reject with a StorageError; a rejected write leaves nothing half-written. */
export type Store = {
  agents: AgentStore
  conversations: ConversationStore
  runs: RunStore
  sessions: SessionStore
  events: EventLog
  messages: MessageStore
  workers: WorkerStore
  repairs: RepairStore
  credentials: CredentialStore
  cooldowns: CooldownStore
  modelNotes: ModelNoteStore
  blocks: BlockStore
  tools: StoredToolStore
  mcpServers: McpServerStore
  tags: TagStore
  toolWrites: ToolWriteStore
  passages: PassageStore
  prompts: PromptStore
  messageSearch: MessageSearchStore
  people: PeopleStore
  shares: ShareStore
  erasure: ErasureStore
  keys: KeyStore
  webhookSecrets: WebhookSecretStore
  audit: AuditLog
  webhooks: WebhookStore
  hooks: HookStore
  changes: ChangeStore
  schedules: ScheduleStore
  openai: OpenaiStore
  /** A short random name of this database. */
  homeId(): Promise<string>
  ids: IdStore
  imports: ImportStore
  gateway: GatewayStore
  /**
   * Calls the listener when another process may have written: a wake-up signal without data. Returns the unsubscribe
   * function.
   */
  onForeignWrite(listener: () => void): () => void
  close(): Promise<void>
}

export type AgentStore = {
  create(agent: Agent, defaultConversation: ConversationId, contents?: AgentContents): Promise<void>
  /** Creates all of them, or none. */
  createAll(agents: readonly NewAgent[]): Promise<void>
  get(organizationId: OrganizationId, id: AgentId): Promise<Agent | undefined>
  list(organizationId: OrganizationId, page: AgentPage): Promise<Agent[]>
  search(organizationId: OrganizationId, filter: AgentFilter, page: ListPage): ListResult<Agent>
  count(organizationId: OrganizationId): Promise<number>
  update(organizationId: OrganizationId, id: AgentId, edit: AgentEdit): Promise<Agent | undefined>
  /**
   * Also deletes its conversations, runs, messages and passages. Blocks and tools stay, because other agents may use
   * them.
   */
  delete(organizationId: OrganizationId, id: AgentId): Promise<boolean>
  /** Agents with secrets, in all organizations, in order of their numbers, for key rotation. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: AgentId; sealed: { secret: string } }[]>
  /** False: the secrets changed meanwhile. */
  reseal(id: AgentId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}

export type NewAgent = { agent: Agent; conversationId: ConversationId; contents: AgentContents }

export type ConversationStore = {
  /** Creates the conversation and its own blocks atomically. */
  create(conversation: Conversation, ownBlocks?: readonly Block[]): Promise<void>
  get(organizationId: OrganizationId, id: ConversationId): Promise<Conversation | undefined>
  /**
   * Owner of a conversation, and whether it is deleted. For sweeps over all organizations, never for a caller's
   * request.
   */
  getAnywhere(
    id: ConversationId,
  ): Promise<(Pick<Conversation, 'organizationId' | 'agentId'> & { isDeleted: boolean }) | undefined>
  /** The default conversation of the agent. */
  defaultOf(organizationId: OrganizationId, agentId: AgentId): Promise<Conversation | undefined>
  list(organizationId: OrganizationId, agentId: AgentId): Promise<Conversation[]>
  /** Of an agent, its default one included, by their last message, or their creation without one. */
  lastActive(organizationId: OrganizationId, agentId: AgentId, page: ListPage): ListResult<Conversation>
  /** Excludes default conversations, which belong to their agents, and hidden ones. */
  search(organizationId: OrganizationId, filter: ConversationFilter, page: ListPage): ListResult<Conversation>
  update(
    organizationId: OrganizationId,
    id: ConversationId,
    edit: (conversation: Conversation) => Conversation,
  ): Promise<Conversation | undefined>
  /** `busy`, with nothing changed, while runs are running, waiting or queued in it. */
  delete(organizationId: OrganizationId, id: ConversationId, at: number): Promise<DeleteResult>
  /** Copies the messages below `nextPosition` from the source, keeping their ids. Atomic. */
  fork(
    source: ConversationId,
    conversation: Conversation,
    ownBlocks?: readonly Block[],
  ): Promise<'forked' | 'not-found'>
}

export type ConversationFilter = {
  agentId?: AgentId
  /** Matches text in the summary. */
  text?: string
  archived?: 'only' | 'never' | 'too'
  sortBy?: 'created_at' | 'last_message_at' | 'last_run_completion'
}

export type DeleteResult = { type: 'deleted' } | { type: 'not-found' } | { type: 'busy'; runIds: RunId[] }

/** Newest first; `before` is the id of the last agent seen. */
type AgentPage = { limit: number; before?: string }

/** The answer to an approval and the run that continues from it, committed together. */
export type ContinueRun = { answer: Append; run: NewRun; entry: ProjectedEvent; claimFor?: WorkerId }

/** A leased run with its event log. */
export type Claim = { run: Run; events: LoggedEvent[] }

export type RunFilter = {
  agentId?: AgentId
  conversationId?: ConversationId
  statuses?: RunStatus[]
  waiting?: boolean
  background?: boolean
  stopReason?: StopReason
}

/** `before` and `after` are ids: older and newer, in either order. */
export type RunPage = { limit: number; before?: string; after?: string; order?: 'newest-first' | 'oldest-first' }

export type StepFilter = { agentId?: AgentId; runId?: RunId }

/** Feedback on a step; nothing in Holdfast depends on it. */
export type StepRating = { feedback?: 'positive' | 'negative'; tags?: string[] }

export type StoredStep = NewStep & StepRating & { agentId: AgentId }

/** Counts of runs that have not ended. */
export type RunCounts = { queued: number; running: number; waiting: number; oldestQueuedAt?: number }

/** What a worker knows about the organizations it serves. */
export type OrganizationTurns = {
  /** Those that may not start another turn in this process. */
  full: ReadonlySet<OrganizationId>
  /** Those it has served, the one served last at the end. */
  served: readonly OrganizationId[]
}

/** Runs of one organization that have not ended; each retrying one with the time of its next attempt. */
export type OwnRunCounts = {
  queued: number
  running: number
  waiting: number
  retrying: { id: RunId; retryAt: number }[]
}

export type RunStore = {
  open(open: OpenRun): Promise<OpenedRun>
  /** Undefined: the approval was already answered, cancelled or expired. */
  continueAfterApproval(request: ContinueRun): Promise<Run | undefined>
  /**
   * Claims a run whose conversation has no running or waiting run; its fence grows by one. The organization with the
   * fewest running runs is next, of these the one that was served longest ago, and of its runs the oldest. `blocked`:
   * runs are queued, but each is behind another run or belongs to a full organization.
   */
  claimNext(workerId: WorkerId, turns?: OrganizationTurns): Promise<Claim | 'blocked' | undefined>
  /**
   * Takes over a running run whose worker is dead (appends worker-lost and increments its deaths) or that was handed
   * back (neither). Its fence grows by one. With `quarantine: 'busy'`, skips runs that would reach `quarantineFrom`
   * deaths.
   */
  takeOver(
    workerId: WorkerId,
    options: { quarantine: 'free' | 'busy'; quarantineFrom: number; at: number },
  ): Promise<Claim | undefined>
  /** Running runs of this worker, for finding claims whose commit was never reported to it. */
  heldBy(workerId: WorkerId): Promise<{ id: RunId; fence: number }[]>
  /** Releases the lease without counting a death, on graceful shutdown. */
  handBack(runId: RunId, fence: number): Promise<void>
  get(organizationId: OrganizationId, id: RunId): Promise<Run | undefined>
  /** For the engine's sweeps over all organizations, never for a caller's request. */
  getAnywhere(id: RunId): Promise<Run | undefined>
  list(organizationId: OrganizationId, filter: RunFilter, page: RunPage): Promise<Run[]>
  /** The run with this otid. */
  findByOtid(organizationId: OrganizationId, conversationId: ConversationId, otid: string): Promise<RunId | undefined>
  /** The newest run of a request with this fingerprint that was accepted after `since`. */
  findByFingerprint(conversationId: ConversationId, fingerprint: string, since: number): Promise<RunId | undefined>
  /** The newest runs that waited for an answer to this call, in any conversation of the agent. */
  askersOf(organizationId: OrganizationId, agentId: AgentId, callId: string): Promise<Run[]>
  /** Of these calls, those that a person was asked about in this conversation, with the run that asked. */
  askedAbout(conversationId: ConversationId, callIds: readonly string[]): Promise<Map<string, RunId>>
  /** The response of the request that opened this run was sent completely: a later copy is a new request. */
  markAnswered(runId: RunId): Promise<void>
  listSteps(organizationId: OrganizationId, filter: StepFilter, page: RunPage): Promise<StoredStep[]>
  getStep(organizationId: OrganizationId, id: StepId): Promise<StoredStep | undefined>
  steps(runId: RunId): Promise<NewStep[]>
  usageOf(organizationId: OrganizationId, conversationId: ConversationId): Promise<ModelUsage[]>
  /** Undefined: no such step. */
  rateStep(organizationId: OrganizationId, id: StepId, rating: StepRating): Promise<StoredStep | undefined>
  /** Waiting runs whose approval expired before `now`. */
  expired(now: number, limit: number): Promise<Run[]>
  /** Over all organizations, for metrics. */
  countActive(): Promise<RunCounts>
  countOf(organizationId: OrganizationId): Promise<OwnRunCounts>
  /** Raises the highest chunk number that may be assigned, and returns it. Undefined: the lease is lost. */
  raiseChunkBound(runId: RunId, fence: number): Promise<number | undefined>
}

export type Append = {
  runId: RunId
  /** Unique to this commit, so that a commit of unknown outcome can be found. */
  commitId: string
  writer:
    | { type: 'holder'; fence: number }
    /** Cancel, steer or approval: accepted only while the run is in one of these phases. */
    | { type: 'guest'; phases: RunPhase[] }
  /** An earlier attempt of this commit may have succeeded: look up its id before writing. */
  isRetry?: boolean
  /** Sequence number that this writer expects to write next. */
  seen: number
  /** Appended even if other events arrived. */
  facts: ProjectedEvent[]
  /** Appended only if no other event arrived since `seen`. */
  intents: ProjectedEvent[]
}

export type AppendResult =
  /** `news` holds all events from `seen` on in log order, including those just appended. */
  | { type: 'appended'; news: LoggedEvent[]; intentsKept: boolean }
  /** Nothing was written: the lease is lost, or the run is in another phase. */
  | { type: 'refused' }

export type EventLog = {
  append(append: Append): Promise<AppendResult>
  /** Events after sequence number `after`, in order. */
  read(runId: RunId, after: number): Promise<LoggedEvent[]>
  /** The first event of a run; undefined if there is no such run. */
  first(runId: RunId): Promise<TurnEvent | undefined>
}

export type MessageStore = {
  /** The model's context: all messages since the last compaction, in order. */
  context(conversationId: ConversationId): Promise<Message[]>
  list(organizationId: OrganizationId, conversationId: ConversationId, page: MessagePage): Promise<Message[]>
  ofRun(runId: RunId): Promise<Message[]>
  /** In this conversation, or in any: the original before its copies in forks. */
  get(organizationId: OrganizationId, id: MessageId, conversationId?: ConversationId): Promise<Message | undefined>
}

/**
 * In order of position. `newest` returns the last `limit` messages, oldest first. Without `cleared`, messages that a
 * reset cleared are left out.
 */
export type MessagePage = {
  limit: number
  after?: number
  before?: number
  take: 'oldest' | 'newest'
  cleared?: 'too'
}

/** A worker is a process that runs turns. Its lease covers every run it holds; each run has its own fence. */
export type WorkerStore = {
  /**
   * Registers the worker or renews its lease. On SQLite the owner of the home also removes all other workers, because
   * its lock proves them dead.
   */
  beat(workerId: WorkerId, leaseMs: number): Promise<void>
  /** Removes the worker: its runs can be taken over without waiting for the lease to expire. */
  leave(workerId: WorkerId): Promise<void>
}

/** Repairs only: the only writes that do not follow from a new event. Each returns whether it was carried out. */
export type RepairStore = {
  /**
   * Rewrites the run row from the log. Refused if the run changed since `seen`, if a live worker holds it, or if its
   * conversation would have two active runs.
   */
  rewriteRun(seen: Pick<Run, 'id' | 'fence' | 'nextSeq'>, repair: Pick<RowRepair, 'row' | 'nextSeq'>): Promise<boolean>
  /** `to` is one above the last existing position. */
  raiseNextPosition(conversationId: ConversationId, to: number): Promise<boolean>
  /** Only at a position that was assigned and has no message. */
  insertMessage(run: Pick<Run, 'id' | 'conversationId'>, message: NewMessage, position: number): Promise<boolean>
}
