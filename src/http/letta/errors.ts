import type { MessageId, RunId } from '../../core/id.ts'
import { Problem, type ProblemKind } from '../../core/problem.ts'
import type { ErrorType, RunError, StopReason } from '../../core/run.ts'
import { StorageError } from '../../ports/storage-error.ts'
import { approvalRequestId } from './slice-ids.ts'

export type ErrorAnswer = { status: number; body: Record<string, unknown>; headers?: Record<string, string> }

/** An answer that is an error, made where it is known to be one. */
export class HttpFault extends Error {
  readonly answer: ErrorAnswer
  constructor(answer: ErrorAnswer) {
    super(typeof answer.body.detail === 'string' ? answer.body.detail : `HTTP ${answer.status}`)
    this.name = 'HttpFault'
    this.answer = answer
  }
}

export const refuse = (status: number, detail: string): HttpFault => new HttpFault({ status, body: { detail } })

/** The client repeats what fails unless it is told that this would not help. */
export const NO_RETRY = { 'x-should-retry': 'false' }

const STATUS_OF_PROBLEM: Record<ProblemKind, number> = {
  'not-found': 404,
  invalid: 422,
  busy: 409,
  'pending-approval': 409,
  'queue-full': 429,
  conflict: 409,
  gone: 410,
  'home-owned': 503,
  unavailable: 503,
}

/** What the client is told of a fault; undefined for one that is ours and tells nothing. */
export function answerOf(fault: unknown): ErrorAnswer | undefined {
  if (fault instanceof HttpFault) return fault.answer
  if (fault instanceof Problem) return problemAnswer(fault)
  if (fault instanceof StorageError) {
    const detail = 'The store cannot be used at the moment. Try again in a moment.'
    return { status: 503, body: { detail }, headers: { 'retry-after': '1' } }
  }
  return undefined
}

function problemAnswer({ kind, message, details }: Problem): ErrorAnswer {
  const status = STATUS_OF_PROBLEM[kind]
  const run_id = details.runId
  switch (kind) {
    case 'pending-approval': {
      const answerId = typeof details.answerId === 'string' ? (details.answerId as MessageId) : undefined
      const detail = {
        ...{ code: 'PENDING_APPROVAL', message: `CONFLICT: ${message}` },
        pending_request_id: answerId ? approvalRequestId(answerId) : null,
        ...{ tool_call_ids: details.callIds ?? [], run_id: run_id ?? null },
      }
      return { status, body: { detail }, headers: NO_RETRY }
    }
    case 'busy':
    case 'conflict':
      return { status, body: { detail: `CONFLICT: ${message}`, ...(run_id ? { run_id } : {}) }, headers: NO_RETRY }
    case 'queue-full':
      return { status, body: { detail: message, ...(run_id ? { run_id } : {}) }, headers: { 'retry-after': '1' } }
    case 'home-owned':
    case 'unavailable':
      return { status, body: { detail: message }, headers: { 'retry-after': '1' } }
    case 'not-found':
      return { status, body: { detail: `NOT_FOUND: ${message}` } }
    case 'invalid':
    case 'gone':
      return { status, body: { detail: message } }
  }
}

const STATUS_OF_ERROR: Record<ErrorType, number> = {
  llm_timeout: 504,
  llm_rate_limit: 429,
  llm_authentication: 401,
  llm_empty_response: 502,
  llm_error: 502,
  context_window_overflow_in_system_prompt: 400,
  internal_error: 500,
  worker_lost: 500,
  time_limit: 504,
}

/** How a blocking request tells that its run failed. The ladder was walked to its end: the client need not repeat it. */
export function failedRun(error: RunError, { runId, stopReason }: { runId: RunId; stopReason: StopReason }): HttpFault {
  const { errorType, message, detail } = error
  const isBroke = stopReason === 'insufficient_credits'
  const status = isBroke ? 402 : STATUS_OF_ERROR[errorType]
  const type = isBroke ? 'llm_insufficient_credits' : errorType
  return new HttpFault({
    status,
    body: { error: { type, message, detail: detail ?? null }, detail: message, run_id: runId, stop_reason: stopReason },
    headers: NO_RETRY,
  })
}
