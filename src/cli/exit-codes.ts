import type { ProblemKind } from '../core/problem.ts'
import type { StopReason } from '../core/run.ts'
import type { StorageFault } from '../ports/storage-error.ts'

/** A wrong flag or argument. */
export const USAGE = 2
/** A bug in Holdfast; the number is EX_SOFTWARE of sysexits.h. */
export const BUG = 70
/** The code that shells report for a program ended by Ctrl-C. */
export const INTERRUPTED = 130
export const TERMINATED = 143

export const EXIT_OF_PROBLEM: Record<ProblemKind, number> = {
  invalid: USAGE,
  'invalid-argument': USAGE,
  immutable: USAGE,
  'unsupported-type': USAGE,
  'too-large': USAGE,
  'not-found': 3,
  gone: 3,
  forbidden: 4,
  busy: 4,
  'pending-approval': 4,
  'queue-full': 4,
  conflict: 4,
  'home-owned': 5,
  unavailable: 6,
  'caller-left': 6,
  'run-failed': 6,
  'peer-timeout': 6,
  'peer-failed': 6,
  'not-served': 6,
}

export const EXIT_OF_STORAGE: Record<StorageFault, number> = {
  owned: 5,
  full: 6,
  busy: 6,
  'read-only': 6,
  corrupt: 6,
  'newer-version': 6,
  'unreleased-version': 6,
  unreachable: 6,
  'outcome-unknown': 6,
}

/** Exit code of `holdfast run`, by the stop reason of its turn. */
export const EXIT_OF_STOP: Record<StopReason, number> = {
  end_turn: 0,
  tool_rule: 0,
  error: 1,
  max_steps: 10,
  requires_approval: 11,
  max_tokens_exceeded: 12,
  llm_api_error: 20,
  invalid_llm_response: 21,
  invalid_tool_call: 22,
  no_tool_call: 23,
  context_window_overflow_in_system_prompt: 24,
  insufficient_credits: 25,
  cancelled: INTERRUPTED,
}
