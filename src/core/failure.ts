import type { ErrorType, StopReason } from './run.ts'

/** Why a model attempt failed. Vendor error formats are translated to these kinds in providers/. */
export type FailureKind =
  // Transport: no connection, no first byte in time, silence in mid-answer, a stream that ended early.
  | 'unreachable'
  | 'timeout'
  | 'stalled'
  | 'cut-off'
  | 'certificate-rejected'
  // Capacity, limits, credentials and account.
  | 'overloaded'
  | 'server-error'
  | 'rate-limited'
  /** An aggregator reports that the provider behind it is rate limited: another key would not help. */
  | 'upstream-rate-limited'
  /** No request was sent: every credential of this target is cooling down. */
  | 'cooling-down'
  | 'quota-exhausted'
  | 'auth-rejected'
  /** A setting of the account blocks it: another key of the same account would not help. */
  | 'policy-blocked'
  | 'model-unknown'
  /** No request was sent: the organization may not use the model, or may not spend more today. */
  | 'model-not-allowed'
  | 'spending-limit'
  // The request is too large or not accepted.
  | 'context-overflow'
  /** The account may not use the long context: its window is smaller than the model's. */
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
  // The answer cannot be used.
  | 'content-refused'
  | 'empty-answer'
  | 'thinking-only'
  /** The whole output limit was used for reasoning. */
  | 'thinking-exhausted'
  /** Text that reached the output limit; it can be continued. */
  | 'text-truncated'
  /** A call that reached the output limit: it is requested again and never run. */
  | 'call-truncated'
  | 'malformed-answer'

export type Failure = {
  kind: FailureKind
  detail: string
  status?: number
  code?: string
  /** Retry-after as the provider stated it; bounded by the ladder. Absent if the provider stated none. */
  retryAfterMs?: number
  /** The context window stated by the provider. */
  statedWindow?: number
  /** The output tokens left for this request, stated by the provider. */
  availableOutput?: number
  /** The maximum side of an image, in pixels, stated by the provider. */
  maxImageSide?: number
  /** What the operator can do about it; set when the ladder is exhausted. */
  advice?: string
  /** The provider's id of the request, for its support. */
  requestId?: string
  /** Set if the request was too long although nothing more of the conversation could be left out: what is fixed. */
  fixedTokens?: number
  /** Whether the provider may have accepted (and charged) the failed request. */
  mayHaveBeenAccepted?: boolean
}

/** Failures that say that the request was too long. */
export const SAYS_TOO_LONG: ReadonlySet<FailureKind> = new Set([
  'context-overflow',
  'long-context-refused',
  'payload-too-large',
])

/** The `code` of an `auth-rejected` without a request: there was no key to reject. */
export const MISSING_KEY = 'missing_api_key'

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
  stalled: {
    stopReason: 'llm_api_error',
    errorType: 'llm_timeout',
    message: 'The model stopped sending in mid-answer.',
  },
  'cut-off': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The answer of the model ended early.' },
  'certificate-rejected': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'This server does not trust the TLS certificate of the model provider.',
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
    message: 'Every credential of the model provider is cooling down.',
  },
  'policy-blocked': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'A setting of the provider account blocks this request.',
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
    message: 'The model sent reasoning but no answer.',
  },
  'thinking-exhausted': {
    stopReason: 'max_tokens_exceeded',
    errorType: 'llm_error',
    message: 'The model used its whole output limit for reasoning.',
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
    message: 'The model sent an empty answer.',
  },
  'malformed-answer': {
    stopReason: 'invalid_llm_response',
    errorType: 'llm_error',
    message: 'The model sent an answer that cannot be parsed.',
  },
  'invalid-request': REJECTED,
  'model-not-allowed': {
    stopReason: 'llm_api_error',
    errorType: 'llm_error',
    message: 'The organization may not use this model.',
  },
  'spending-limit': {
    stopReason: 'insufficient_credits',
    errorType: 'llm_error',
    message: 'The spending limit of the organization or of the key does not allow this request.',
  },
  'model-unknown': { stopReason: 'llm_api_error', errorType: 'llm_error', message: 'The model does not exist.' },
}

/** Endings that have another cause than a model failure. */
export const ENDING_OF_FAULT: Record<'internal' | 'worker-lost' | 'time-limit' | 'struck-out', Ending> = {
  internal: { stopReason: 'error', errorType: 'internal_error', message: 'Internal error in Holdfast. This is a bug.' },
  'worker-lost': {
    stopReason: 'error',
    errorType: 'worker_lost',
    message: 'The worker process died three times at the same step of this run. The run is not retried.',
  },
  'struck-out': {
    stopReason: 'invalid_tool_call',
    errorType: 'llm_error',
    message:
      'The model failed three times in a row to make a valid tool call: the tool was unknown or not allowed, its arguments were invalid, or a required tool was not called.',
  },
  'time-limit': { stopReason: 'error', errorType: 'time_limit', message: 'The run reached its time limit.' },
}
