import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { AgentId, BlockId, ConversationId, ImportId, MessageId, OrganizationId, WorkerId } from '../core/id.ts'
import type { ImportKind, ImportObject, ImportProgress, ImportRecord, OutcomeCount } from '../core/import.ts'
import type { McpServer } from '../core/mcp-server.ts'
import type { NewMessage } from '../core/message.ts'
import type { Passage } from '../core/passage.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** The right of one worker to carry out an import. A newer fence takes it away: every write checks it. */
export type ImportLease = { record: ImportRecord; number: number; fence: number; sealedKey?: string }

/** An imported message at the next free position of its conversation. `copyOf`: a fork shares it with its original. */
export type PlacedMessage = NewMessage & { copyOf?: MessageId }

/** Rows that one transaction inserts together with the rows that say so. Ids are those here, and free. */
export type Placement = { objects: ImportObject[] } & (
  | { type: 'objects' }
  | { type: 'tool'; tool: StoredTool }
  | { type: 'mcp-server'; server: McpServer }
  | { type: 'block'; block: Block }
  | { type: 'agent'; agent: Agent; conversation: Conversation; blockIds: BlockId[]; tags: string[] }
  | { type: 'conversation'; conversation: Conversation }
  | { type: 'messages'; conversation: PlacedIn; messages: PlacedMessage[]; cursor?: CursorMove }
  | { type: 'passages'; passages: (Passage & { vector?: { model: string; values: number[] } })[] }
)

type PlacedIn = { id: ConversationId; organizationId: OrganizationId; agentId: AgentId }

type ImportedStart = { start: number; listStart?: number }

/** Everything of a conversation up to this message of the source has a row. */
type CursorMove = { conversation: string; to: string }

/** What the home knows about an id of the source. `taken`: by a row that this import did not create. */
export type KnownObject = { state: 'known'; object: ImportObject } | { state: 'free' } | { state: 'taken' }

export type ImportStore = {
  /** Starts it, or starts the one of the same origin again. An import that is running stays as it is. */
  open(record: ImportRecord, sealedKey: string | undefined): Promise<ImportRecord>
  get(organizationId: OrganizationId, id: ImportId): Promise<ImportRecord | undefined>
  /** Newest first. */
  list(organizationId: OrganizationId): Promise<ImportRecord[]>
  /** A running import of any organization that no live worker carries out. Its fence grows by one. */
  claim(workerId: WorkerId): Promise<ImportLease | undefined>
  /** Removes the rows of objects that failed: this pass tries them again. */
  forgetFailures(lease: ImportLease): Promise<void>
  /** Rows of objects, and which ids are taken by others. */
  known(
    lease: ImportLease,
    kind: ImportKind,
    ids: readonly string[],
    parent?: string,
  ): Promise<Map<string, KnownObject>>
  /** One transaction. False: the lease is lost, and nothing was written. */
  place(lease: ImportLease, placement: Placement, progress: ImportProgress): Promise<boolean>
  /** False: the lease is lost. */
  note(lease: ImportLease, progress: ImportProgress): Promise<boolean>
  /** The model's view of a conversation begins at the first of these messages, unless it was used here. */
  setView(lease: ImportLease, conversationId: ConversationId, inView: readonly MessageId[]): Promise<void>
  /** The same by position. */
  setStart(lease: ImportLease, conversationId: ConversationId, start: ImportedStart): Promise<void>
  finish(lease: ImportLease, end: Pick<ImportRecord, 'state' | 'progress' | 'failure'>): Promise<void>
  /** Ends a running import; its worker notices at its next write. */
  stop(organizationId: OrganizationId, id: ImportId, at: number): Promise<ImportRecord | undefined>
  counts(organizationId: OrganizationId, id: ImportId): Promise<OutcomeCount[]>
  /** Objects that are not imported under their own id, without their bodies. */
  remarks(organizationId: OrganizationId, id: ImportId, limit: number): Promise<ImportObject[]>
  /** Kept objects of a kind, with their bodies, in order of their ids. */
  kept(organizationId: OrganizationId, id: ImportId, page: KeptPage): Promise<ImportObject[]>
}

export type KeptPage = { kind: ImportKind; after: string; limit: number }
