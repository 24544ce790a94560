import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome } from '../../ports/platform.ts'

/** One delivery of Slack. It is delivered again, perhaps to another connection, until it is acknowledged. */
export type Envelope = { type: string; body: Record<string, unknown>; acknowledge(): Promise<void> }

export type ConnectionHandlers = {
  /** The connection is up. */
  opened(): void
  received(envelope: Envelope): void
  alive(): void
}

/** Calls of the Web API and the connection of Socket Mode. Outcomes are values, and no call is repeated. */
export type SlackTransport = {
  call<T = object>(method: string, payload: object, signal: AbortSignal): Promise<CallOutcome<{ result: T }>>
  /** Resolves when the connection is over. `refresh`: Slack asked for another one. */
  connect(handlers: ConnectionHandlers, signal: AbortSignal): Promise<'refresh' | CallFailure>
  /** Puts the bytes of a file where Slack said. */
  upload(url: string, bytes: Uint8Array, signal: AbortSignal): Promise<CallOutcome>
  download(url: string, signal: AbortSignal): Promise<CallOutcome<{ bytes: Uint8Array }>>
}

export const failed = (failure: CallFailure): { type: 'failed'; failure: CallFailure } => ({ type: 'failed', failure })
