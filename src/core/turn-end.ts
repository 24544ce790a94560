import { defined } from './defined.ts'
import type { TurnEvent } from './event.ts'
import { ENDING_OF_FAILURE, ENDING_OF_FAULT, type Ending, type Failure, MISSING_KEY } from './failure.ts'
import type { RunError, StopReason } from './run.ts'

/** Why the turn must end as soon as its open calls have outcomes. A cancel takes precedence. */
export type ForcedEnd = 'cancelled' | 'time-limit' | 'fault' | 'worker-lost' | 'gave-up'

export function endOf({ fault, gaveUp }: { fault?: string; gaveUp?: Failure }, forcedEnd: ForcedEnd): TurnEvent {
  switch (forcedEnd) {
    case 'cancelled':
      return { type: 'turn-ended', v: 1, stopReason: 'cancelled' }
    case 'time-limit':
      return endWithError(ENDING_OF_FAULT['time-limit'])
    case 'fault':
      return endWithError(ENDING_OF_FAULT.internal, fault)
    case 'worker-lost':
      return endWithError(ENDING_OF_FAULT['worker-lost'])
    case 'gave-up':
      return endWithError(endingOf(gaveUp!), failureDetail(gaveUp!))
  }
}

export function endNormally(stopReason: StopReason): TurnEvent {
  if (stopReason !== 'max_tokens_exceeded') return { type: 'turn-ended', v: 1, stopReason }
  const error: RunError = { errorType: 'llm_error', message: 'The model reached its output limit in mid-answer.' }
  return { type: 'turn-ended', v: 1, stopReason, error }
}

export function endWithError({ stopReason, errorType, message }: Ending, detail?: string): TurnEvent {
  return {
    type: 'turn-ended',
    v: 1,
    stopReason,
    error: { errorType, message, ...defined({ detail: detail || undefined }) },
  }
}

function endingOf({ kind, code }: Failure): Ending {
  const { stopReason, errorType, message } = ENDING_OF_FAILURE[kind]
  return { stopReason, errorType, message: code === MISSING_KEY ? 'The model provider has no API key.' : message }
}

/** Between the detail of an error and its advice. */
export const BEFORE_ADVICE = ' What to do: '

function failureDetail({ detail, advice }: Failure): string {
  if (!advice) return detail
  return `${detail}${/[.!?…]$/.test(detail) ? '' : '.'}${BEFORE_ADVICE}${advice}`
}
