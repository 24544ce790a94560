import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import type { OrganizationId, RunId, StepId } from '../core/id.ts'
import type { ImportKind, ImportOptions, ImportOrigin } from '../core/import.ts'
import type { McpSecrets, McpServer } from '../core/mcp-server.ts'
import type { MessageBody } from '../core/message.ts'
import type { Passage } from '../core/passage.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** Messages that belong together: an answer with the results of its calls. In order, with their ids at the source. */
export type SourceMessage = {
  id: string
  body: MessageBody
  createdAt: number
  alsoIds?: string[]
  /** Absent: it belongs to no run. */
  runId?: RunId
  stepId?: StepId
}

/**
 * What a source yields, in an order in which each object can be stored: what it refers to came before. Ids are those of
 * the source.
 */
export type SourceItem =
  | { type: 'stage'; stage: string }
  | { type: 'version'; version: string }
  /** How many objects of a kind the source says it has, in addition to what it said before. */
  | { type: 'stated'; kind: ImportKind; count: number }
  | { type: 'tool'; tool: StoredTool }
  /** `missingSecrets`: names of those whose values the source does not show. */
  | { type: 'mcp-server'; server: McpServer; secrets: McpSecrets; missingSecrets?: string[] }
  | { type: 'block'; block: Block }
  /** With its default conversation. */
  | {
      type: 'agent'
      agent: Agent
      blockIds: string[]
      tags: string[]
      secrets: Record<string, string>
      conversation: SourceConversation
    }
  | { type: 'conversation'; conversation: SourceConversation }
  | { type: 'messages'; conversation: string; messages: SourceMessage[]; isClosed: boolean }
  | { type: 'conversation-end'; conversation: string; view: SourceView }
  | { type: 'passage'; passage: Passage; vector?: { model: string; values: number[] } }
  /** Has no place here; `body` stays with the import. */
  | { type: 'kept'; kind: ImportKind; id: string; body: unknown; reason: string }
  | { type: 'left-out'; kind: ImportKind; id: string; parent?: string; reason: string; targetId?: string }
  | { type: 'failed'; kind: ImportKind; id: string; parent?: string; reason: string }

/**
 * Which messages the model sees: all, these, or those from a position on; `listStart` as in a conversation. `isWhole`: the
 * source listed every message that it shows, so one of these that never came is hidden there.
 */
type SourceView = 'all' | { inView: string[]; isWhole: boolean } | { start: number; listStart?: number }

/** `sourceId` differs from the id for a default conversation of a source that has no id for it. */
export type SourceConversation = Omit<Conversation, 'nextPosition' | 'contextStart'> & { sourceId: string }

export type SourceRequest = {
  organizationId: OrganizationId
  options: ImportOptions
  key?: string
  signal: AbortSignal
  /** The last message before which everything has a row; absent: none. The source checks what it leads to. */
  cursorOf(conversation: string): Promise<string | undefined>
}

/** Reads a source. It throws `SourceFault` when it cannot go on; what concerns one object is an item. */
export type ImportSource = { read(request: SourceRequest): AsyncIterable<SourceItem> }

/** The source of each origin. */
export type ImportSources = (origin: ImportOrigin) => ImportSource

/** The source cannot be read. The sentence says why and what to do. */
export class SourceFault extends Error {
  constructor(sentence: string) {
    super(sentence)
    this.name = 'SourceFault'
  }
}
