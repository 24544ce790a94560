import { defined } from '../../core/defined.ts'
import type { Problem } from '../../core/problem.ts'
import type { ErrorType } from '../../core/run.ts'
import type { ErrorAnswer, ErrorTable, RefusalBody } from '../errors.ts'

/** Stops the automatic retry of the official client. */
const NO_RETRY = { 'x-should-retry': 'false' }
const SOON = { 'retry-after': '1' }

type ErrorFields = { type: string; code?: string | null; param?: string | null }

/** The error object of OpenAI's API. */
const openaiError = (message: string, { type, code = null, param = null }: ErrorFields) => ({
  error: { message, type, param, code },
})

const TYPE_OF_STATUS: Record<number, ErrorFields> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  403: { type: 'permission_error', code: 'forbidden' },
  404: { type: 'invalid_request_error', code: 'not_found' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'unavailable' },
  500: { type: 'server_error', code: 'internal_error' },
}

export const openaiRefusal: RefusalBody = (detail, status) =>
  openaiError(detail, TYPE_OF_STATUS[status] ?? { type: 'invalid_request_error' })

type Choice = ErrorFields & { headers?: Record<string, string> }

function answer(status: number, fields: Choice) {
  return ({ message, details }: Problem): ErrorAnswer => {
    const { headers, ...rest } = fields
    const code = typeof details.code === 'string' ? details.code : rest.code
    const param = typeof details.param === 'string' ? details.param : paramIn(message)
    return {
      status,
      body: openaiError(message, { ...rest, ...defined({ code, param }) }),
      ...defined({ headers }),
    }
  }
}

/** Problems of a field begin with its place. */
const paramIn = (message: string): string | undefined => /^(?:body|query|path)\.([\w.]+):/.exec(message)?.[1]

const INVALID = 'invalid_request_error'
const CONFLICT = { type: INVALID, code: 'conflict', headers: NO_RETRY }

/** Statuses and bodies that clients of OpenAI's API expect. */
export const OPENAI_ERRORS: ErrorTable = {
  invalid: answer(400, { type: INVALID }),
  'invalid-argument': answer(400, { type: INVALID }),
  'not-found': answer(404, { type: INVALID, code: 'not_found' }),
  forbidden: answer(403, { type: 'permission_error', code: 'forbidden' }),
  gone: answer(410, { type: INVALID, code: 'stream_expired' }),
  busy: answer(409, { type: INVALID, code: 'conversation_busy', headers: NO_RETRY }),
  conflict: answer(409, CONFLICT),
  'pending-approval': answer(409, { type: INVALID, code: 'pending_approval', headers: NO_RETRY }),
  'queue-full': answer(429, { type: 'rate_limit_error', code: 'queue_full', headers: SOON }),
  immutable: answer(405, { type: INVALID }),
  'unsupported-type': answer(415, { type: INVALID }),
  'too-large': answer(413, { type: INVALID, code: 'request_too_large' }),
  'caller-left': answer(499, { type: INVALID }),
  'run-failed': failedRun,
  'peer-timeout': answer(504, { type: 'server_error', headers: NO_RETRY }),
  'peer-failed': answer(502, { type: 'server_error', headers: NO_RETRY }),
  'not-served': answer(501, { type: INVALID, code: 'not_served', headers: NO_RETRY }),
  'home-owned': answer(503, { type: 'server_error', headers: SOON }),
  unavailable: answer(503, { type: 'server_error', headers: SOON }),
}

const OF_FAILURE: Record<ErrorType, { status: number; type: string }> = {
  llm_timeout: { status: 504, type: 'server_error' },
  llm_rate_limit: { status: 429, type: 'rate_limit_error' },
  llm_authentication: { status: 502, type: 'server_error' },
  llm_empty_response: { status: 502, type: 'server_error' },
  llm_error: { status: 502, type: 'server_error' },
  context_window_overflow_in_system_prompt: { status: 400, type: INVALID },
  internal_error: { status: 500, type: 'server_error' },
  worker_lost: { status: 500, type: 'server_error' },
  time_limit: { status: 504, type: 'server_error' },
}

/** Recovery has tried its whole ladder, so a retry by the client would not help. */
function failedRun({ message, details }: Problem): ErrorAnswer {
  const { errorType, runId, stopReason } = details
  const hasNoCredits = stopReason === 'insufficient_credits'
  const { status, type } = OF_FAILURE[errorType as ErrorType]
  const code = hasNoCredits ? 'insufficient_quota' : String(errorType)
  const { error } = openaiError(message, { type, code })
  return {
    status: hasNoCredits ? 429 : status,
    body: { error: { ...error, ...defined({ detail: details.detail, run_id: runId }) } },
    headers: NO_RETRY,
  }
}
