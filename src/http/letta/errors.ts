import { defined } from '../../core/defined.ts'
import type { MessageId, RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ErrorType, RunError, StopReason } from '../../core/run.ts'
import type { ErrorAnswer, ErrorTable } from '../errors.ts'
import { approvalRequestId } from './slice-ids.ts'

/** Stops the automatic retry of the official client. */
const NO_RETRY = { 'x-should-retry': 'false' }
const SOON = { 'retry-after': '1' }

/** Statuses and texts that the official client expects. */
export const LETTA_ERRORS: ErrorTable = {
  invalid: plain(422),
  'invalid-argument': prefixed(400, 'INVALID_ARGUMENT'),
  'not-found': prefixed(404, 'NOT_FOUND'),
  forbidden: plain(403),
  gone: plain(410),
  busy: conflict,
  conflict,
  'pending-approval': pendingApproval,
  'queue-full': ({ message, details }) => ({ status: 429, body: withRun({ detail: message }, details), headers: SOON }),
  immutable: plain(405),
  'unsupported-type': plain(415),
  'too-large': plain(413),
  'caller-left': plain(499),
  'run-failed': failedRunAnswer,
  'peer-timeout': plain(408, NO_RETRY),
  'peer-failed': ({ message, details }) => ({
    status: 502,
    body: { error: { type: details.type, message: details.what, detail: message }, detail: message },
    headers: NO_RETRY,
  }),
  'not-served': plain(501, NO_RETRY),
  'home-owned': plain(503, SOON),
  unavailable: plain(503, SOON),
}

function plain(status: number, headers?: Record<string, string>) {
  return ({ message }: Problem): ErrorAnswer => ({
    status,
    body: { detail: message },
    ...defined({ headers }),
  })
}

function prefixed(status: number, prefix: string) {
  return ({ message }: Problem): ErrorAnswer => ({ status, body: { detail: `${prefix}: ${message}` } })
}

function conflict({ message, details }: Problem): ErrorAnswer {
  return { status: 409, body: withRun({ detail: `CONFLICT: ${message}` }, details), headers: NO_RETRY }
}

const withRun = (body: Record<string, unknown>, { runId }: Problem['details']): Record<string, unknown> =>
  runId ? { ...body, run_id: runId } : body

function pendingApproval({ message, details }: Problem): ErrorAnswer {
  const { answerId, callIds, runId } = details
  const detail = {
    code: 'PENDING_APPROVAL',
    message: `CONFLICT: ${message}`,
    pending_request_id: typeof answerId === 'string' ? approvalRequestId(answerId as MessageId) : null,
    tool_call_ids: callIds ?? [],
    run_id: runId ?? null,
  }
  return { status: 409, body: { detail }, headers: NO_RETRY }
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

/** Recovery has tried its whole ladder, so a retry by the client would not help. */
function failedRunAnswer({ message, details }: Problem): ErrorAnswer {
  const hasNoCredits = details.stopReason === 'insufficient_credits'
  const type = hasNoCredits ? 'llm_insufficient_credits' : details.errorType
  return {
    status: hasNoCredits ? 402 : STATUS_OF_ERROR[details.errorType as ErrorType],
    body: {
      error: { type, message, detail: details.detail ?? null },
      detail: message,
      run_id: details.runId,
      stop_reason: details.stopReason,
    },
    headers: NO_RETRY,
  }
}

/** The problem for a request that waited for a run which failed. */
export function runFailedProblem(
  error: RunError,
  { runId, stopReason }: { runId: RunId; stopReason: StopReason },
): Problem {
  const { errorType, message, detail } = error
  return new Problem('run-failed', message, {
    errorType,
    runId,
    stopReason,
    ...defined({ detail: detail || undefined }),
  })
}
