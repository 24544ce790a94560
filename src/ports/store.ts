import type { AdmissionPolicy } from '../core/admission.ts'
import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId, RunId, StepId, WorkerId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { Message, NewMessage } from '../core/message.ts'
import type { NewStep, ProjectedEvent } from '../core/projection.ts'
import type { RowRepair } from '../core/repair.ts'
import type { Run, RunPhase, RunStatus, StopReason } from '../core/run.ts'
import type { AgentContents, AgentEdit, AgentFilter, TagStore } from './agent-store.ts'
import type { BlockStore } from './block-store.ts'
import type { CallbackRequest, CallbackStore } from './callback-store.ts'
import type { CooldownStore, CredentialStore, ModelNoteStore } from './credential-store.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { McpServerStore } from './mcp-store.ts'
import type { MessageSearchStore } from './message-search-store.ts'
import type { PassageStore } from './passage-store.ts'
import type { AuditLog, KeyStore, PeopleStore } from './people-store.ts'
import type { PromptStore } from './prompt-store.ts'
import type { StoredToolStore } from './tool-store.ts'

export type { CooldownStore, CredentialStore, ModelNoteStore }

/** Rows. Every method may reject with a StorageError; nothing it rejects with has left half a write behind. */
export type Store = {
  agents: AgentStore
  conversations: ConversationStore
  runs: RunStore
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
  passages: PassageStore
  prompts: PromptStore
  messageSearch: MessageSearchStore
  people: PeopleStore
  keys: KeyStore
  audit: AuditLog
  callbacks: CallbackStore
  /** Calls back when another process may have written: a nudge, never data. Returns the way to stop. */
  onForeignWrite(listener: () => void): () => void
  close(): Promise<void>
}

export type AgentStore = {
  create(agent: Agent, defaultConversation: ConversationId, parts?: AgentContents): Promise<void>
  /** All of them, or none. */
  createAll(agents: readonly NewAgent[]): Promise<void>
  get(organizationId: OrganizationId, id: AgentId): Promise<Agent | undefined>
  findByName(organizationId: OrganizationId, name: string): Promise<Agent | undefined>
  list(organizationId: OrganizationId, page: AgentPage): Promise<Agent[]>
  search(organizationId: OrganizationId, filter: AgentFilter, page: ListPage): ListResult<Agent>
  count(organizationId: OrganizationId): Promise<number>
  update(organizationId: OrganizationId, id: AgentId, edit: AgentEdit): Promise<Agent | undefined>
  /** With its conversations, runs, messages and passages. Blocks and tools stay: others may use them. */
  delete(organizationId: OrganizationId, id: AgentId): Promise<boolean>
  /** Of every organization: agents that have secrets, in the order of their numbers, for the rotation of keys. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: AgentId; sealed: { secret: string } }[]>
  /** False: the secrets were changed meanwhile. */
  reseal(id: AgentId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}

export type NewAgent = { agent: Agent; conversationId: ConversationId; contents: AgentContents }

export type ConversationStore = {
  /** With the blocks that are its own: all of it, or nothing. */
  create(conversation: Conversation, ownBlocks?: readonly Block[]): Promise<void>
  get(organizationId: OrganizationId, id: ConversationId): Promise<Conversation | undefined>
  /** Whose it is, and whether it was deleted; for our own sweeps, which serve every organization. Never for a caller's request. */
  getAnywhere(
    id: ConversationId,
  ): Promise<(Pick<Conversation, 'organizationId' | 'agentId'> & { isDeleted: boolean }) | undefined>
  /** The conversation every agent has. */
  defaultOf(organizationId: OrganizationId, agentId: AgentId): Promise<Conversation | undefined>
  list(organizationId: OrganizationId, agentId: AgentId): Promise<Conversation[]>
  /** Without default conversations, which belong to their agents, and without hidden ones. */
  search(organizationId: OrganizationId, filter: ConversationFilter, page: ListPage): ListResult<Conversation>
  update(
    organizationId: OrganizationId,
    id: ConversationId,
    edit: (conversation: Conversation) => Conversation,
  ): Promise<Conversation | undefined>
  /** Not while something runs, waits or is queued in it: then these runs are the answer and nothing was changed. */
  delete(organizationId: OrganizationId, id: ConversationId, at: number): Promise<DeleteResult>
  /** Its messages below `nextPosition` are copies of those of the source, with their ids: all of it, or nothing. */
  fork(
    source: ConversationId,
    conversation: Conversation,
    ownBlocks?: readonly Block[],
  ): Promise<'forked' | 'not-found'>
}

export type ConversationFilter = {
  agentId?: AgentId
  /** In the summary. */
  text?: string
  archived?: 'only' | 'never' | 'too'
  sortBy?: 'created_at' | 'last_message_at' | 'last_run_completion'
}

export type DeleteResult = { type: 'deleted' } | { type: 'not-found' } | { type: 'busy'; runIds: RunId[] }

/** Newest first; `before` is the id of the last one seen. */
type AgentPage = { limit: number; before?: string }

export type NewRun = Pick<
  Run,
  'id' | 'organizationId' | 'agentId' | 'conversationId' | 'background' | 'createdAt' | 'continues'
> & {
  metadata: Json
  /** A retried request is recognized by its key; another body under the same key is a conflict. */
  idempotency?: { key: string; digest: string }
  request?: RequestIdentity
  /** Who is to be told when it is over, or waits for a person. */
  callback?: CallbackRequest
}

/** What the copies of a request are recognized by. */
export type RequestIdentity = {
  /** Hash of what was said. */
  digest: string
  /** The client's names of its inputs. */
  otids: string[]
  /** Hash of key, path and body, for retries that name nothing. */
  fingerprint?: string
  /** It says of itself that it is not the first try. */
  isRetry: boolean
}

export type OpenRun = {
  run: NewRun
  /** The input-accepted event. */
  entry: ProjectedEvent
  policy: AdmissionPolicy
  /** Appended to the running run when the policy says so (cancel-requested). */
  interruption: ProjectedEvent
  /** Appended to the running run when the policy says so (input-steered). */
  steering: ProjectedEvent
  /** Take the lease in the same commit if nothing stands before this run. */
  claimFor?: WorkerId
}

export type OpenedRun =
  | { type: 'opened'; run: Run; interrupted?: RunId }
  | { type: 'steered'; runId: RunId }
  | { type: 'repeated'; runId: RunId }
  | { type: 'key-conflict'; runId: RunId }
  /** One of its otids belongs to a run that was told something else. */
  | { type: 'otid-conflict'; runId: RunId }
  | { type: 'refused'; refusal: 'busy' | 'queue-full' | 'pending-approval'; runId?: RunId }
  | { type: 'no-conversation' }

/** The answer to an approval and the run that carries it out: both or neither. */
export type ContinueRun = { answer: Append; run: NewRun; entry: ProjectedEvent; claimFor?: WorkerId }

/** The right to run a run, with everything needed to do so. */
export type Claim = { run: Run; events: LoggedEvent[] }

export type RunFilter = {
  agentId?: AgentId
  conversationId?: ConversationId
  statuses?: RunStatus[]
  waiting?: boolean
  background?: boolean
  stopReason?: StopReason
}

/** `before` and `after` are ids, and mean older and newer in either order. */
export type RunPage = { limit: number; before?: string; after?: string; order?: 'newest-first' | 'oldest-first' }

export type StepFilter = { agentId?: AgentId; runId?: RunId }

/** What a person thought of a step; nothing we do follows from it. */
export type StepRating = { feedback?: 'positive' | 'negative'; tags?: string[] }

export type StoredStep = NewStep & StepRating & { agentId: AgentId }

/** What is not over, counted. */
export type RunCounts = { queued: number; running: number; waiting: number; oldestQueuedAt?: number }

export type RunStore = {
  open(open: OpenRun): Promise<OpenedRun>
  /** Undefined: the approval was answered, cancelled or expired by somebody else first. */
  continueAfterApproval(request: ContinueRun): Promise<Run | undefined>
  /**
   * The oldest run that may start: nothing runs or waits in its conversation. Its fence grows by one. `blocked`: there
   * are queued runs, and each has another one before it.
   */
  claimNext(workerId: WorkerId): Promise<Claim | 'blocked' | undefined>
  /**
   * A running run whose worker is dead (a worker-lost event is appended, its deaths grow by one) or that was handed back
   * (neither). Its fence grows by one. With `quarantine: 'busy'`, runs that would have `quarantineFrom` deaths or more
   * are left for later.
   */
  takeOver(
    workerId: WorkerId,
    options: { quarantine: 'free' | 'busy'; quarantineFrom: number; at: number },
  ): Promise<Claim | undefined>
  /** The running runs this worker holds, for a worker that may not have heard of a claim it was given. */
  heldBy(workerId: WorkerId): Promise<{ id: RunId; fence: number }[]>
  /** Gives the lease back without a death: a clean shutdown. */
  handBack(runId: RunId, fence: number): Promise<void>
  get(organizationId: OrganizationId, id: RunId): Promise<Run | undefined>
  /** For the engine's own sweeps, which serve every organization. Never for a caller's request. */
  getAnywhere(id: RunId): Promise<Run | undefined>
  list(organizationId: OrganizationId, filter: RunFilter, page: RunPage): Promise<Run[]>
  /** The run this otid belongs to. */
  findByOtid(organizationId: OrganizationId, conversationId: ConversationId, otid: string): Promise<RunId | undefined>
  /** The response to the request that opened this run was sent to its end: a later copy of it is a new request. */
  markAnswered(runId: RunId): Promise<void>
  listSteps(organizationId: OrganizationId, filter: StepFilter, page: RunPage): Promise<StoredStep[]>
  getStep(organizationId: OrganizationId, id: StepId): Promise<StoredStep | undefined>
  steps(runId: RunId): Promise<NewStep[]>
  /** Undefined: there is no such step. */
  rateStep(organizationId: OrganizationId, id: StepId, rating: StepRating): Promise<StoredStep | undefined>
  /** Waiting runs whose approval lapsed before `now`. */
  expired(now: number, limit: number): Promise<Run[]>
  /** Over every organization, for whoever watches the server. */
  countActive(): Promise<RunCounts>
  /** No chunk number above the answer may be given out before it is raised again. Undefined: the lease is lost. */
  raiseChunkBound(runId: RunId, fence: number): Promise<number | undefined>
}

export type Append = {
  runId: RunId
  /** Unique to this commit, so that one of unknown outcome can be found again. */
  commitId: string
  writer:
    | { type: 'holder'; fence: number }
    /** Cancel, steer, approval: allowed only while the run is in one of these phases. */
    | { type: 'guest'; phases: RunPhase[] }
  /** An earlier try of this very commit may have gone through: look for its id before writing. */
  isRetry?: boolean
  /** The sequence number this writer expects to write next. */
  seen: number
  /** Appended whatever else arrived. */
  facts: ProjectedEvent[]
  /** Appended only if nothing else arrived since `seen`. */
  intents: ProjectedEvent[]
}

export type AppendResult =
  /** `news` is everything from `seen` on in log order, ours included. */
  | { type: 'appended'; news: LoggedEvent[]; intentsKept: boolean }
  /** The lease is lost, or the run is in another phase: nothing was written. */
  | { type: 'refused' }

export type EventLog = {
  append(append: Append): Promise<AppendResult>
  /** Everything after sequence number `after`, in order. */
  read(runId: RunId, after: number): Promise<LoggedEvent[]>
  /** What a run began with; absent if there is no such run. */
  first(runId: RunId): Promise<TurnEvent | undefined>
}

export type MessageStore = {
  /** What the model sees: everything from the last compaction on, in order. */
  context(conversationId: ConversationId): Promise<Message[]>
  list(organizationId: OrganizationId, conversationId: ConversationId, page: MessagePage): Promise<Message[]>
  ofRun(runId: RunId): Promise<Message[]>
  /** In this conversation, or in whichever holds it: the original before its copies in forks. */
  get(organizationId: OrganizationId, id: MessageId, conversationId?: ConversationId): Promise<Message | undefined>
}

/** In order of position. `newest` takes the last `limit`, still oldest first. */
export type MessagePage = { limit: number; after?: number; before?: number; take: 'oldest' | 'newest' }

/** A worker is a process that runs turns. Its lease covers every run it holds; each run has its own fence. */
export type WorkerStore = {
  /** Registers or renews. On SQLite the owner of the home also removes every other worker: they are proved dead. */
  beat(workerId: WorkerId, leaseMs: number): Promise<void>
  /** Leaves at once: what it still holds can be taken over without waiting. */
  leave(workerId: WorkerId): Promise<void>
}

/** For repairs alone: the only writes that follow from no new event. Each answers whether it was carried out. */
export type RepairStore = {
  /**
   * Makes the row say what the log says. Not if the run moved since `seen`, if a live worker holds it, or if its
   * conversation would have two active runs.
   */
  rewriteRun(seen: Pick<Run, 'id' | 'fence' | 'nextSeq'>, repair: Pick<RowRepair, 'row' | 'nextSeq'>): Promise<boolean>
  /** `to` is one above the last position there is. */
  raiseNextPosition(conversationId: ConversationId, to: number): Promise<boolean>
  /** Only at a position that was given out and is free. */
  insertMessage(run: Pick<Run, 'id' | 'conversationId'>, message: NewMessage, position: number): Promise<boolean>
}
