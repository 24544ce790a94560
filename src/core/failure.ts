import type { StopReason } from './run.ts'

/** Why a model attempt failed, in our words. A vendor's words stop in providers/. */
export type FailureKind =
  | 'timeout'
  | 'rate-limited'
  | 'overloaded'
  | 'unreachable'
  | 'auth-rejected'
  | 'quota-exhausted'
  | 'context-overflow'
  | 'content-refused'
  | 'empty-answer'
  | 'malformed-answer'
  | 'invalid-request'
  | 'model-unknown'

export type Failure = {
  kind: FailureKind
  detail: string
  status?: number
  code?: string
  /** What the provider asked for; bounded by the ladder. */
  retryAfterMs?: number
  /** Whether the provider may have accepted (and charged) the request although we saw it fail. */
  mayHaveBeenAccepted?: boolean
}

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

export type Ending = { stopReason: StopReason; errorType: ErrorType; message: string }

/** Each failure kind's stop reason and wire error type, in one place. */
export const ENDING_OF_FAILURE: Record<FailureKind, Ending> = {
  timeout: { stopReason: 'llm_api_error', errorType: 'llm_timeout', message: 'The model did not answer in time.' },
  'rate-limited': { stopReason: 'llm_api_error', errorType: 'llm_rate_limit', message: 'The model is rate limited.' },
  overloaded: { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model is overloaded.' },
  unreachable: { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model could not be reached.' },
  'auth-rejected': {
    stopReason: 'llm_api_error',
    errorType: 'llm_authentication',
    message: 'The model provider rejected the credential.',
  },
  'quota-exhausted': {
    stopReason: 'insufficient_credits',
    errorType: 'llm_error',
    message: 'The model provider account has no credit left.',
  },
  'context-overflow': {
    stopReason: 'context_window_overflow_in_system_prompt',
    errorType: 'context_window_overflow_in_system_prompt',
    message: 'The conversation does not fit into the context window of the model.',
  },
  'content-refused': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model refused to answer.' },
  'empty-answer': {
    stopReason: 'invalid_llm_response',
    errorType: 'llm_empty_response',
    message: 'The model answered with nothing.',
  },
  'malformed-answer': {
    stopReason: 'invalid_llm_response',
    errorType: 'llm_error',
    message: 'The model sent an answer that cannot be read.',
  },
  'invalid-request': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'The model rejected the request.',
  },
  'model-unknown': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model does not exist.' },
}

/** The endings that no model failure explains. */
export const ENDING_OF_FAULT: Record<'internal' | 'worker-lost' | 'time-limit', Ending> = {
  internal: { stopReason: 'error', errorType: 'internal_error', message: 'Holdfast itself failed; this is a bug.' },
  'worker-lost': {
    stopReason: 'error',
    errorType: 'worker_lost',
    message: 'The process running this turn died three times at the same step; it was not tried again.',
  },
  'time-limit': { stopReason: 'error', errorType: 'time_limit', message: 'The run reached its time limit.' },
}
