import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome, OutgoingFile } from '../../ports/platform.ts'

/** What resumes a session of Discord's gateway. */
export type Session = {
  sessionId: string
  resumeURL: string
  sequence: number
  shardId: number
  shardCount: number
}

/** One event of the gateway with its number in the session. */
export type Dispatch = { type: string; sequence: number; data: Record<string, unknown> }

export type ConnectionHandlers = {
  /** The session up to which everything is committed: it is resumed from there. */
  session(): Session | undefined
  /** Discord began this session; what was said before it was not delivered. */
  began(session: Session): void
  resumed(): void
  /** Discord does not know the session any more. */
  forgotten(): void
  received(dispatch: Dispatch): void
  alive(): void
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Calls of the REST API and the connection of the gateway. Outcomes are values, and no call is repeated. */
export type DiscordTransport = {
  call<T = object>(
    request: { method: HttpMethod; path: string; body?: object; query?: Record<string, string>; file?: OutgoingFile },
    signal: AbortSignal,
  ): Promise<CallOutcome<{ result: T }>>
  /** Resolves when the connection is over. */
  connect(handlers: ConnectionHandlers, signal: AbortSignal): Promise<CallFailure>
  download(url: string, signal: AbortSignal): Promise<CallOutcome<{ bytes: Uint8Array }>>
}

export const failed = (failure: CallFailure): { type: 'failed'; failure: CallFailure } => ({ type: 'failed', failure })
