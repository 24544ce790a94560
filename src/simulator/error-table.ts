import type { Json } from '../core/json.ts'

/** One error of a vendor. `{model}`, `{limit}` and `{above}` (limit + 1) in the message are replaced. */
export type Wording = {
  status: number
  message: string
  /** Gemini calls it `status`. */
  type?: string
  /** Gemini: the reason of its ErrorInfo. */
  code?: string | number
  param?: string
  limit?: number
  retryAfterSeconds?: number
  headers?: Record<string, string>
  /** Instead of JSON. */
  html?: string
  /** For servers whose error bodies differ from the vendor's: local servers and aggregators. */
  body?: (filled: { message: string; status: number }) => Json
}

/** The common wording, which is OpenAI's, and where another vendor differs from it. */
type Entry = Wording & Partial<Record<'anthropic' | 'gemini', Partial<Wording>>>

const errors = <Name extends string>(table: Record<Name, Entry>): Record<Name, Entry> => table

const page = (title: string): string =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`

const RATE_LIMIT: Entry = {
  status: 429,
  message: 'Rate limit reached for {model}: Limit 3, Used 3, Requested 1.',
  type: 'requests',
  code: 'rate_limit_exceeded',
  anthropic: {
    type: 'rate_limit_error',
    message: 'This request would exceed the rate limit for your organization of 50 requests per minute.',
  },
  gemini: {
    type: 'RESOURCE_EXHAUSTED',
    message: 'Resource has been exhausted (e.g. check quota).',
    code: 'RATE_LIMIT_EXCEEDED',
  },
}

const OVERFLOW: Entry = {
  status: 400,
  message: "This model's maximum context length is exceeded. Please reduce the length of the messages.",
  code: 'context_length_exceeded',
  param: 'messages',
  anthropic: { message: 'prompt is too long' },
  gemini: { message: 'The input token count exceeds the maximum number of tokens allowed.' },
}

export const ERRORS = errors({
  'rate-limit': RATE_LIMIT,
  'rate-limit-with-retry-after': { ...RATE_LIMIT, retryAfterSeconds: 2 },
  overloaded: {
    status: 503,
    message: 'The engine is currently overloaded, please try again later.',
    type: 'server_error',
    code: 'overloaded',
    anthropic: { status: 529, type: 'overloaded_error', message: 'Overloaded' },
    gemini: { type: 'UNAVAILABLE', message: 'The model is overloaded. Please try again later.' },
  },
  'overloaded-as-429': {
    status: 429,
    message: 'The service may be temporarily overloaded, please try again later',
    type: 'overloaded',
    code: '1305',
    anthropic: { type: 'overloaded_error' },
    gemini: { type: 'RESOURCE_EXHAUSTED', message: 'The model is overloaded. Please try again later.' },
  },
  'insufficient-quota': {
    status: 429,
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    anthropic: {
      status: 400,
      type: 'invalid_request_error',
      message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.',
    },
    gemini: {
      type: 'RESOURCE_EXHAUSTED',
      message: 'Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.',
    },
  },
  'payment-required': {
    status: 402,
    message: 'Insufficient credits. Add more and try again.',
    type: 'insufficient_credits',
    code: 402,
    anthropic: { type: 'billing_error' },
    gemini: { type: 'FAILED_PRECONDITION' },
  },
  'payment-window': {
    status: 402,
    message: 'Usage limit reached for this window. It resets in 2 seconds, try again then.',
    type: 'usage_limit_reached',
    code: 'usage_limit_reached',
    retryAfterSeconds: 2,
    gemini: { type: 'RESOURCE_EXHAUSTED' },
  },
  'invalid-key': {
    status: 401,
    message: 'Incorrect API key provided.',
    code: 'invalid_api_key',
    anthropic: { type: 'authentication_error', message: 'invalid x-api-key' },
    gemini: { status: 400, message: 'API key not valid. Please pass a valid API key.', code: 'API_KEY_INVALID' },
  },
  revoked: {
    status: 401,
    message: 'Your authentication token has been invalidated. Please try signing in again.',
    code: 'token_revoked',
    anthropic: { type: 'authentication_error', message: 'OAuth token has been revoked. Please obtain a new token.' },
    gemini: {
      type: 'UNAUTHENTICATED',
      message: 'Request had invalid authentication credentials: the token was revoked.',
      code: 'ACCESS_TOKEN_REVOKED',
    },
  },
  expired: {
    status: 401,
    message: 'Provided authentication token is expired. Please try signing in again.',
    code: 'token_expired',
    anthropic: {
      type: 'authentication_error',
      message: 'OAuth token has expired. Please obtain a new token or refresh your existing token.',
    },
    gemini: {
      type: 'UNAUTHENTICATED',
      message: 'Request had invalid authentication credentials: the token has expired.',
      code: 'ACCESS_TOKEN_EXPIRED',
    },
  },
  forbidden: {
    status: 403,
    message: 'You do not have access to this resource.',
    code: 'forbidden',
    anthropic: { type: 'permission_error', message: 'Your API key does not have permission to use the resource.' },
    gemini: { type: 'PERMISSION_DENIED', message: 'The caller does not have permission' },
  },
  'context-overflow': OVERFLOW,
  'context-overflow-with-window': {
    ...OVERFLOW,
    limit: 8192,
    message:
      "This model's maximum context length is {limit} tokens. However, your messages resulted in 4000000 tokens. Please reduce the length of the messages.",
    anthropic: { message: 'prompt is too long: 4000000 tokens > {limit} maximum' },
    gemini: { message: 'The input token count (4000000) exceeds the maximum number of tokens allowed ({limit}).' },
  },
  'output-cap': {
    status: 400,
    limit: 1024,
    message:
      'max_tokens is too large: 64000. This model supports at most {limit} completion tokens, whereas you provided 64000.',
    param: 'max_tokens',
    anthropic: {
      message: 'max_tokens: 64000 > {limit}, which is the maximum allowed number of output tokens for {model}',
    },
    gemini: {
      message:
        'Unable to submit request because it has a maxOutputTokens value of 64000 but the supported range is from 1 (inclusive) to {above} (exclusive).',
    },
  },
  'unknown-parameter': {
    status: 400,
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code: 'unsupported_parameter',
    param: 'max_tokens',
    anthropic: { message: 'max_completion_tokens: Extra inputs are not permitted' },
    gemini: { message: 'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.' },
  },
  'signature-rejected': {
    status: 400,
    message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    gemini: { message: 'Thought signature is not valid: the thinking signature could not be verified.' },
  },
  'encrypted-rejected': {
    status: 400,
    message: 'The encrypted content for item rs_simulator could not be verified.',
    code: 'invalid_encrypted_content',
  },
  'image-too-large': {
    status: 400,
    message:
      'messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    anthropic: { type: 'invalid_request_error' },
    gemini: { message: 'The image exceeds the maximum dimensions: max allowed size: 8000 pixels.' },
  },
  'image-corrupt': {
    status: 400,
    message: 'The image data you provided does not represent a valid image. Please check your input and try again.',
    code: 'invalid_image',
    anthropic: { message: 'Could not process image' },
    gemini: { message: 'Unable to process input image. Please retry with a valid image.' },
  },
  'tool-image': {
    status: 400,
    message: "Invalid type for 'messages[2].content': tool message content must be a string.",
    code: 'invalid_type',
    param: 'messages[2].content',
    anthropic: { message: 'messages.2.content.0.tool_result.content: expected string, got list' },
    gemini: { message: 'Function response parts: text is not set; images are not supported in function responses.' },
  },
  grammar: {
    status: 400,
    message:
      'Unable to generate parser for this template. error parsing grammar: json-schema-to-grammar: unsupported pattern',
    body: ({ message, status }) => ({ error: { code: status, message, type: 'invalid_request_error' } }),
  },
  'long-context-beta': {
    status: 400,
    message: 'The long context beta is not yet available for this subscription.',
  },
  'long-context-tier': {
    status: 429,
    message: 'Extra usage is required for long context requests.',
    type: 'rate_limit_exceeded',
    anthropic: { type: 'rate_limit_error' },
    gemini: { type: 'RESOURCE_EXHAUSTED' },
  },
  'model-not-found': {
    status: 404,
    message: 'The model `{model}` does not exist or you do not have access to it.',
    code: 'model_not_found',
    anthropic: { type: 'not_found_error', message: 'model: {model}' },
    gemini: { type: 'NOT_FOUND', message: 'models/{model} is not found for API version v1beta.' },
  },
  'content-policy': {
    status: 400,
    message: 'Your request was flagged by our safety system: it violates our usage policies.',
    code: 'content_policy_violation',
    anthropic: { message: 'Output blocked by content filtering policy: it violates our usage policies.' },
    gemini: { message: 'The prompt was flagged by our safety filters: it violates our usage policies.' },
  },
  'payload-too-large': {
    status: 413,
    message: 'Request entity too large',
    code: 'payload_too_large',
    anthropic: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
    gemini: { message: 'Request payload size exceeds the limit: 20971520 bytes.' },
  },
  'invalid-request': {
    status: 400,
    message: 'Invalid value for a field of this request.',
    code: 'invalid_value',
  },
  'server-error': {
    status: 500,
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: 'server_error',
    anthropic: { type: 'api_error', message: 'Internal server error' },
    gemini: { type: 'INTERNAL', message: 'An internal error has occurred. Please retry.' },
  },
  'html-502': { status: 502, message: 'Bad Gateway', html: page('502 Bad Gateway') },
  'html-200': { status: 200, message: 'Sign in', html: page('Sign in') },
  'policy-blocked': {
    status: 404,
    message: 'No endpoints available matching your guardrail restrictions and data policy.',
    body: ({ message, status }) => ({ error: { message, code: status } }),
    gemini: { type: 'NOT_FOUND' },
  },
  'upstream-429': {
    status: 429,
    message: 'Provider returned error',
    body: ({ message, status }) => ({
      error: {
        message,
        code: status,
        metadata: {
          raw: 'This model is temporarily rate-limited upstream. Please retry shortly.',
          provider_name: 'Upstream',
        },
      },
    }),
    gemini: { type: 'RESOURCE_EXHAUSTED', message: 'The provider is temporarily rate-limited upstream.' },
  },
  'gateway-timeout': {
    status: 504,
    message: 'The upstream server did not answer in time.',
    type: 'server_error',
    code: 'timeout',
    anthropic: { type: 'timeout_error', message: 'Request timed out' },
    gemini: { type: 'DEADLINE_EXCEEDED', message: 'The request timed out. Please try again.' },
  },
})

export type ErrorName = keyof typeof ERRORS
export const ERROR_NAMES = Object.keys(ERRORS) as ErrorName[]
