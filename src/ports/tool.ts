import type { CommandApproval } from '../core/command-approval.ts'
import type { AgentId, ConversationId, OrganizationId, RunId } from '../core/id.ts'
import type { ImagePart } from '../core/image-part.ts'
import type { Json } from '../core/json.ts'
import type { Effects } from '../core/tool-call.ts'
import type { ToolWrite } from '../core/tool-write.ts'

/**
 * Why a tool must stop. After `shutdown` its answer is discarded: a `verifiable` tool leaves its work as it is, and the
 * next process calls `verify`; any other call is over.
 */
export type ToolStopReason = 'cancelled' | 'timeout' | 'shutdown'

export type ToolContext = {
  /** Aborted on cancel, timeout and shutdown; its reason is a `ToolStopReason`. */
  signal: AbortSignal
  /** The same for every execution of one call, so that an idempotent tool can recognize a repetition. */
  idempotencyKey: string
  /** Shown to readers of the stream; not part of the result. */
  progress(text: string): void
  organizationId?: OrganizationId
  agentId: AgentId
  conversationId: ConversationId
  runId: RunId
  callId: string
}

export type ToolAnswer = {
  /** `unknown`: the call was sent and its outcome is not known. */
  status: 'success' | 'error' | 'unknown'
  output: string
  images?: ImagePart[]
  /** What the tool printed beside its result. */
  stdout?: string
  stderr?: string
  /** Database changes committed together with the answer; the tool itself writes nothing. */
  writes?: ToolWrite[]
}

/**
 * What a `verifiable` tool knows about an interrupted execution. After `not-done` the call runs again. A worker whose
 * lease expired may be paused instead of dead, and finish later: a tool that cannot exclude this should return
 * `unknown`.
 */
export type Verification = { type: 'done'; answer: ToolAnswer } | { type: 'not-done' } | { type: 'unknown' }

export type Tool = {
  name: string
  description: string
  inputSchema: Json
  effects: Effects
  parallel: boolean
  needsApproval: boolean
  /** Its argument `message` is said to the user: clients see an assistant message in place of the call. */
  isSpeech?: true
  /** A stored tool with this name comes first: organizations had it before Holdfast did. */
  yieldsToStored?: true
  /** Of a tool that was brought as source; recorded with each call, which then runs this source or none. */
  sourceHash?: string
  /**
   * Why this input needs approval, for tools whose risk depends on the input; undefined if it needs none. Called once,
   * with validated input, when the answer is recorded; the result must depend on the input and the policy alone. Settings
   * of an agent for a tool can require approval for every call; only its policy for commands can switch this off.
   */
  approvalReason?(input: Json, policy?: CommandApproval): string | undefined
  /** Why a call that needs approval can only wait for it in a turn, and never runs by hand. */
  waitsInTurns?: string
  /** Maximum characters of output for the model; longer output is saved to a file. */
  outputLimit: number
  timeoutMs: number
  run(input: Json, context: ToolContext): Promise<ToolAnswer>
  /** Required for `verifiable` tools. */
  verify?(input: Json, context: ToolContext): Promise<Verification>
}

export type ToolRegistry = {
  find(name: string): Tool | undefined
  names(): string[]
  /** Why the input is invalid, worded for the model; undefined if it is valid. */
  inputFault(tool: Tool, input: Json): string | undefined
}

/** Saves outputs over a tool's limit in full. Returns the path. */
export type OutputSpill = { save(callId: string, output: string): Promise<string> }

/** Each agent has a folder, which is removed with it. */
export type OutputSpills = { of(agentId: AgentId): OutputSpill }
