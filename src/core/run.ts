import type { CompactionSettings } from './compaction.ts'
import type { AgentId, ConversationId, OrganizationId, RunId, WorkerId } from './id.ts'
import type { Json } from './json.ts'
import type { ModelSettings } from './model-settings.ts'
import type { KeyId } from './people.ts'
import type { TargetHandle } from './target.ts'
import type { ToolRule } from './tool-rules.ts'
import type { RunCallback } from './webhook-delivery.ts'

export type RunStatus = 'created' | 'running' | 'completed' | 'failed' | 'cancelled'

export type StopReason =
  | 'end_turn'
  | 'max_steps'
  | 'tool_rule'
  | 'requires_approval'
  | 'cancelled'
  | 'error'
  | 'llm_api_error'
  | 'invalid_llm_response'
  | 'invalid_tool_call'
  | 'no_tool_call'
  | 'max_tokens_exceeded'
  | 'context_window_overflow_in_system_prompt'
  | 'insufficient_credits'

export type ErrorType =
  | 'llm_timeout'
  | 'llm_rate_limit'
  | 'llm_authentication'
  | 'llm_empty_response'
  | 'llm_error'
  | 'context_window_overflow_in_system_prompt'
  | 'internal_error'
  | 'worker_lost'
  | 'time_limit'

/** The error of a failed run, as stored on its row and sent in its timeline and stream. */
export type RunError = { errorType: ErrorType; message: string; detail?: string }

export const STATUS_OF_STOP: Record<StopReason, Exclude<RunStatus, 'created' | 'running'>> = {
  end_turn: 'completed',
  max_steps: 'completed',
  tool_rule: 'completed',
  requires_approval: 'completed',
  cancelled: 'cancelled',
  error: 'failed',
  llm_api_error: 'failed',
  invalid_llm_response: 'failed',
  invalid_tool_call: 'failed',
  no_tool_call: 'failed',
  max_tokens_exceeded: 'failed',
  context_window_overflow_in_system_prompt: 'failed',
  insufficient_credits: 'failed',
}

/**
 * `waiting` is `completed / requires_approval` without an answer yet: the only completed run that may still change.
 * It becomes finally `completed` (answered) or `cancelled` (cancelled, expired).
 */
export type RunPhase = RunStatus | 'waiting'

export const TRANSITIONS: Record<RunPhase, readonly RunPhase[]> = {
  created: ['running', 'cancelled'],
  running: ['waiting', 'completed', 'failed', 'cancelled'],
  waiting: ['completed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

export type RunTask = 'compact' | 'reset' | 'expire' | 'close'

/** The settings of one run, fixed when its request is accepted. */
export type RunSettings = {
  targets: TargetHandle[]
  maxSteps: number
  maxDurationMs: number
  streamTokens: boolean
  /** What happens to a call that needs approval: `ask` waits for a person, `deny` denies it (unattended runs). */
  onGuarded: 'ask' | 'deny'
  approvalTtlMs: number
  /** The answer of a heartbeat that says nothing. */
  silence?: string
  /**
   * Set for a run without input. `compact` summarizes the conversation and `reset` empties it. `expire` ends its session:
   * the processes, and the context. `close` ends the processes only.
   */
  task?: RunTask
  /** Why the session ended, for the history; with `expire`. */
  notice?: string
  compaction?: CompactionSettings
  /** Wait budget of one step; 30 s if absent. */
  patienceMs?: number
  /** Tools that the client runs itself; they take precedence over server tools of the same name. */
  clientTools?: ClientTool[]
  /** System prompt for this run only, in place of the agent's. */
  system?: string
  /** Text added to the end of the system prompt, for this run only. */
  addendum?: string
  /** Tools whose success ends the turn. */
  exitTools?: string[]
  /** Of the agent's tools, those that this run may use; absent: all. */
  onlyTools?: string[]
  /** When each tool may be called; absent without rules. */
  toolRules?: ToolRule[]
  /** What the agent, the conversation and the request ask of each answer; absent if nothing. */
  modelSettings?: ModelSettings
  /** The application's limit of the context window, in tokens; the window of the model applies if it is smaller. */
  windowLimit?: number
  /** The trace that the run belongs to: that of its request, or of the run that it continues (`core/traceparent.ts`). */
  traceparent?: string
}

/** The run that carries a steered message if the turn it joined ends without reading it. */
export type RunOfItsOwn = { runId: RunId; background: boolean; metadata: Json; settings: RunSettings }

export type WaitSettings = Pick<RunSettings, 'onGuarded' | 'clientTools'>

/**
 * Whether a call that needs an answer from outside waits for it. The result of a client's tool is always waited for: an
 * unattended run denies only what a person would have to approve.
 */
export const waitsForAnswer = (tool: string, { onGuarded, clientTools = [] }: WaitSettings): boolean =>
  onGuarded === 'ask' || clientTools.some(({ name }) => name === tool)

/** A tool that the client runs. Its calls wait, like calls that need approval, until the client sends a result. */
export type ClientTool = { name: string; description: string; inputSchema: Json }

export type Run = {
  id: RunId
  organizationId: OrganizationId
  agentId: AgentId
  conversationId: ConversationId
  status: RunStatus
  waiting: boolean
  stopReason?: StopReason
  error?: RunError
  background: boolean
  metadata: Json
  createdAt: number
  startedAt?: number
  completedAt?: number
  /** When the open approval of this run expires. */
  expiresAt?: number
  fence: number
  leaseOwner?: WorkerId
  nextSeq: number
  /** Workers that died at the current step. */
  deaths: number
  /** Upper bound of the chunk numbers assigned so far. */
  chunkBound: number
  /** Of a heartbeat that has answered: whether the answer was silence. */
  silent?: boolean
  continues?: RunId
  /** The key whose request opened it; absent for the home's own key and the command line. */
  openedBy?: KeyId
  callback?: RunCallback
}

export const phaseOf = (run: { status: RunStatus; waiting: boolean }): RunPhase =>
  run.waiting ? 'waiting' : run.status

/** No worker runs it or will: it is settled, or it waits for approval. The answer to that opens another run. */
export const isOver = (run: { status: RunStatus; waiting: boolean }): boolean =>
  phaseOf(run) !== 'created' && phaseOf(run) !== 'running'

/** Final: the run no longer changes. */
export const isSettled = (run: { status: RunStatus; waiting: boolean }): boolean =>
  TRANSITIONS[phaseOf(run)].length === 0
