import type { RunCallback } from './callback.ts'
import type { CompactionSettings } from './compaction.ts'
import type { AgentId, ConversationId, OrganizationId, RunId, WorkerId } from './id.ts'
import type { Json } from './json.ts'
import type { TargetHandle } from './target.ts'
import type { ToolRule } from './tool-rules.ts'

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

/** How a run that went wrong says so: on the run row, in its timeline and in its stream. */
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
 * `waiting` is `completed / requires_approval` with nobody's answer yet: the one completed run that may still change.
 * It may become `completed` for good (answered) or `cancelled` (cancelled, expired).
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

/** What one request asked for, frozen when it was accepted. */
export type RunSettings = {
  targets: TargetHandle[]
  maxSteps: number
  maxDurationMs: number
  streamTokens: boolean
  /** What becomes of a guarded call: a person is asked, or nobody is there to ask. */
  onGuarded: 'ask' | 'deny'
  approvalTtlMs: number
  /** A run that has no input and does one thing to its conversation. */
  task?: 'compact' | 'reset'
  compaction?: CompactionSettings
  /** What the waits of one step may take together; 30 s where nothing is said. */
  patienceMs?: number
  /** Tools that whoever sent this runs; they go before ours of the same name. */
  clientTools?: ClientTool[]
  /** Instead of the agent's own, for this run only. */
  system?: string
  /** Said after the prompt, for this run only. */
  addendum?: string
  /** Tools whose success is the end of the turn. */
  exitTools?: string[]
  /** When which tool may be called; absent where nothing is ruled. */
  toolRules?: ToolRule[]
}

/** Its calls wait, as those of guarded tools do, until its owner sends a result. */
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
  /** When an open approval of this run lapses. */
  expiresAt?: number
  fence: number
  leaseOwner?: WorkerId
  nextSeq: number
  /** Workers that died at the current step. */
  deaths: number
  /** No chunk number above this was given out. */
  chunkBound: number
  continues?: RunId
  callback?: RunCallback
}

export const phaseOf = (run: { status: RunStatus; waiting: boolean }): RunPhase =>
  run.waiting ? 'waiting' : run.status

/** No worker runs it or will: it is settled, or it waits for a person's answer, which opens a run of its own. */
export const isOver = (run: { status: RunStatus; waiting: boolean }): boolean =>
  phaseOf(run) !== 'created' && phaseOf(run) !== 'running'

/** Final: nothing about this run can change any more. */
export const isSettled = (run: { status: RunStatus; waiting: boolean }): boolean =>
  TRANSITIONS[phaseOf(run)].length === 0
