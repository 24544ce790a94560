import type { AgentId, ConversationId, OrganizationId, RunId } from '../core/id.ts'
import type { ImagePart } from '../core/image-part.ts'
import type { Json } from '../core/json.ts'
import type { Effects } from '../core/tool-call.ts'
import type { ToolWrite } from '../core/tool-write.ts'

/**
 * Why a tool is told to stop. After `shutdown` nobody hears its answer: a `verifiable` tool leaves what it began as it is
 * and is asked about it by the next process; whatever else it is, its call is over.
 */
export type ToolStopReason = 'cancelled' | 'timeout' | 'shutdown'

export type ToolContext = {
  /** Aborted on cancel, timeout and shutdown; its reason is a `ToolStop`. */
  signal: AbortSignal
  /** The same for every execution of one call, so that an idempotent tool can recognize itself. */
  idempotencyKey: string
  /** Shown to whoever watches; not part of the result. */
  progress(text: string): void
  organizationId?: OrganizationId
  agentId: AgentId
  conversationId: ConversationId
  runId: RunId
  callId: string
}

export type ToolAnswer = {
  /** `unknown`: it was asked for and nobody heard the end of it. */
  status: 'success' | 'error' | 'unknown'
  output: string
  images?: ImagePart[]
  /** Changes to our own database, which are committed with the answer; the tool itself writes nothing. */
  writes?: ToolWrite[]
}

/**
 * What a `verifiable` tool knows about an execution that was interrupted. After `not-done` the call runs again. A worker
 * whose lease ran out may be paused rather than dead and finish later: a tool that cannot exclude that its first
 * execution still happens should answer `unknown`.
 */
export type Verification = { type: 'done'; answer: ToolAnswer } | { type: 'not-done' } | { type: 'unknown' }

export type Tool = {
  name: string
  description: string
  inputSchema: Json
  effects: Effects
  parallel: boolean
  needsApproval: boolean
  /**
   * Why this very input needs a person's word, for tools that are harmless or not by what they are told; undefined where
   * it needs none. Asked once, of checked input, when the answer is recorded; it must follow from the input alone. An
   * agent's settings can make a tool ask always, and can take that back; they cannot switch this off.
   */
  asksFor?(input: Json): string | undefined
  /** Characters of output the model is shown; the whole of a longer one goes to a file. */
  outputLimit: number
  timeoutMs: number
  run(input: Json, context: ToolContext): Promise<ToolAnswer>
  /** Required of `verifiable` tools. */
  verify?(input: Json, context: ToolContext): Promise<Verification>
}

export type ToolRegistry = {
  find(name: string): Tool | undefined
  names(): string[]
  /** What is wrong with the input, in words for the model; undefined when nothing is. */
  inputFault(tool: Tool, input: Json): string | undefined
}

/** Where outputs over a tool's limit are kept whole. Answers with the place. */
export type OutputSpill = { save(callId: string, output: string): Promise<string> }
