import type { Json } from '../core/json.ts'
import type { ErrorName, Wording } from './error-table.ts'
import type { Fields } from './request-fields.ts'
import type { Responder } from './responder.ts'

/** How the simulator imitates the vendor of one protocol. */
export type SimulatedDialect = {
  /** Matches the end of the paths of the protocol. */
  path: RegExp
  reader: RequestReader
  responder: Responder
  /** Differences from the common wording of an error. */
  wordingOf?(error: ErrorName): Partial<Wording> | undefined
  errorBody(wording: Wording, context: ErrorBodyContext): Json
}

/** Reads the fields of a request. */
type RequestReader = {
  model(fields: Fields, path: string): string
  streams(fields: Fields, path: string): boolean
  messages(fields: Fields): Json[]
  maxTokens(fields: Fields): number | undefined
  /** Whether it streams a JSON array instead of events; without it, never. */
  asArray?(query: URLSearchParams): boolean
  /** Whether a stream states its usage; without it, always. */
  wantsUsage?(fields: Fields): boolean
}

type ErrorBodyContext = { number: number; retryAfter: number | undefined }
