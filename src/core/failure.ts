import type { ErrorType, StopReason } from './run.ts'

/** Why a model attempt failed, in our words. A vendor's words stop in providers/. */
export type FailureKind =
  // The way there: no connection, no first byte in time, silence in mid-answer, an answer that broke off.
  | 'unreachable'
  | 'timeout'
  | 'stalled'
  | 'cut-off'
  | 'certificate-rejected'
  // The provider has no room, or not for us.
  | 'overloaded'
  | 'server-error'
  | 'rate-limited'
  /** An aggregator says that the provider behind it is limited: another key of ours would not help. */
  | 'upstream-rate-limited'
  /** Nobody was asked: every credential of this target rests until a stated time. */
  | 'cooling-down'
  | 'quota-exhausted'
  | 'auth-rejected'
  /** A setting of the account forbids it: no key of the same account would help. */
  | 'policy-blocked'
  | 'model-unknown'
  // The request does not fit.
  | 'context-overflow'
  /** The account may not use the long context: the window is smaller than the model's. */
  | 'long-context-refused'
  | 'long-context-beta-refused'
  | 'output-cap-too-large'
  | 'payload-too-large'
  | 'image-too-large'
  | 'image-rejected'
  | 'tool-images-unsupported'
  | 'signature-rejected'
  | 'encrypted-reasoning-rejected'
  | 'grammar-rejected'
  | 'invalid-request'
  // The answer is none.
  | 'content-refused'
  | 'empty-answer'
  | 'thinking-only'
  /** All of the output went into thinking. */
  | 'thinking-exhausted'
  /** Text that reached the output limit; it can be continued. */
  | 'text-truncated'
  /** A call that reached the output limit: it is asked for again and never run. */
  | 'call-truncated'
  | 'malformed-answer'

export type Failure = {
  kind: FailureKind
  detail: string
  status?: number
  code?: string
  /** What the provider asked for; bounded by the ladder. Present only where it stated an end. */
  retryAfterMs?: number
  /** The window the provider says the model has. */
  statedWindow?: number
  /** The output tokens the provider says are left for this request. */
  availableOutput?: number
  /** The largest side of an image the provider takes, in pixels. */
  maxImageSide?: number
  /** What a person can do about it, once nothing is left to try. */
  advice?: string
  /** How the provider names this request, for its support. */
  requestId?: string
  /** Whether the provider may have accepted (and charged) the request although we saw it fail. */
  mayHaveBeenAccepted?: boolean
}

export type Ending = { stopReason: StopReason; errorType: ErrorType; message: string }

const TOO_LONG: Ending = {
  stopReason: 'context_window_overflow_in_system_prompt',
  errorType: 'context_window_overflow_in_system_prompt',
  message: 'The conversation does not fit into the context window of the model.',
}
const REJECTED: Ending = {
  stopReason: 'llm_api_error',
  errorType: 'llm_error',
  message: 'The model rejected the request.',
}
const TRUNCATED: Ending = {
  stopReason: 'max_tokens_exceeded',
  errorType: 'llm_error',
  message: 'The model reached its output limit in mid-answer.',
}

/** Each failure kind's stop reason and wire error type, in one place. */
export const ENDING_OF_FAILURE: Record<FailureKind, Ending> = {
  timeout: { stopReason: 'llm_api_error', errorType: 'llm_timeout', message: 'The model did not answer in time.' },
  'rate-limited': { stopReason: 'llm_api_error', errorType: 'llm_rate_limit', message: 'The model is rate limited.' },
  stalled: { stopReason: 'llm_api_error', errorType: 'llm_timeout', message: 'The model fell silent in mid-answer.' },
  'cut-off': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The answer of the model broke off.' },
  'certificate-rejected': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'The certificate of the model provider is not trusted here.',
  },
  overloaded: { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model is overloaded.' },
  'server-error': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model provider failed.' },
  unreachable: { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model could not be reached.' },
  'upstream-rate-limited': {
    stopReason: 'llm_api_error',
    errorType: 'llm_rate_limit',
    message: 'The provider behind the aggregator is rate limited.',
  },
  'cooling-down': {
    stopReason: 'llm_api_error',
    errorType: 'llm_rate_limit',
    message: 'Every credential of this model rests until a time its provider stated.',
  },
  'policy-blocked': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'A setting of the provider account forbids this request.',
  },
  'long-context-refused': TOO_LONG,
  'payload-too-large': TOO_LONG,
  'long-context-beta-refused': REJECTED,
  'output-cap-too-large': REJECTED,
  'image-too-large': REJECTED,
  'image-rejected': REJECTED,
  'tool-images-unsupported': REJECTED,
  'signature-rejected': REJECTED,
  'encrypted-reasoning-rejected': REJECTED,
  'grammar-rejected': REJECTED,
  'thinking-only': {
    stopReason: 'invalid_llm_response',
    errorType: 'llm_empty_response',
    message: 'The model thought and did not answer.',
  },
  'thinking-exhausted': {
    stopReason: 'max_tokens_exceeded',
    errorType: 'llm_error',
    message: 'The model spent all of its output on thinking.',
  },
  'text-truncated': TRUNCATED,
  'call-truncated': TRUNCATED,
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
  'context-overflow': TOO_LONG,
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
  'invalid-request': REJECTED,
  'model-unknown': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model does not exist.' },
}

/** The endings that no model failure explains. */
export const ENDING_OF_FAULT: Record<'internal' | 'worker-lost' | 'time-limit' | 'struck-out', Ending> = {
  internal: { stopReason: 'error', errorType: 'internal_error', message: 'Holdfast itself failed; this is a bug.' },
  'worker-lost': {
    stopReason: 'error',
    errorType: 'worker_lost',
    message: 'The process running this turn died three times at the same step; it was not tried again.',
  },
  'struck-out': {
    stopReason: 'invalid_tool_call',
    errorType: 'llm_error',
    message:
      'Three times in a row the model called tools it does not have or may not call, with arguments they do not take, or left out one it must call.',
  },
  'time-limit': { stopReason: 'error', errorType: 'time_limit', message: 'The run reached its time limit.' },
}
