import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome } from '../../ports/platform.ts'

export type MatrixRequest = {
  method: 'GET' | 'PUT' | 'POST'
  /** Below `/_matrix/client`. */
  path: string
  query?: Record<string, string>
  body?: object
  timeoutMs?: number
}

/** Requests of the client-server API. Outcomes are values, and no request is repeated. */
export type MatrixTransport = {
  call<T = object>(request: MatrixRequest, signal: AbortSignal): Promise<CallOutcome<{ result: T }>>
  download(path: string, signal: AbortSignal): Promise<CallOutcome<{ bytes: Uint8Array }>>
}

export const failed = (failure: CallFailure): { type: 'failed'; failure: CallFailure } => ({ type: 'failed', failure })

/** Reading changes nothing, so a lost answer is no more than a platform that is away. */
export const asRead = (failure: CallFailure): CallFailure =>
  failure.kind === 'unknown' ? { ...failure, kind: 'unreachable' } : failure

/** Ids have characters that mean something in a path. */
export const pathOf = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`

export const roomPath = (room: string, ...parts: readonly string[]): string => pathOf('v3', 'rooms', room, ...parts)
