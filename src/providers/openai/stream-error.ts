import { defined } from '../../core/defined.ts'
import type { Failure } from '../../core/failure.ts'
import type { DecodeContext } from '../wire/dialect.ts'

/** An error event inside a 200. Its code is often an HTTP status. */
export function toStreamFailure(
  event: { error?: unknown },
  { provider, model, headers, classify }: DecodeContext,
): Failure {
  const body = JSON.stringify('error' in event && event.error ? event : { error: event })
  const status = statusIn(event.error ?? event)
  return {
    mayHaveBeenAccepted: true,
    ...classify({ provider, model, headers, body, ...defined({ status: status || undefined }) }),
  }
}

function statusIn(error: unknown): number | undefined {
  if (error === null || typeof error !== 'object') return undefined
  const { status, code } = error as { status?: unknown; code?: unknown }
  return [status, code].map(Number).find((value) => Number.isInteger(value) && value >= 400 && value <= 599)
}
