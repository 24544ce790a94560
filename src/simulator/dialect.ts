import type { Json } from '../core/json.ts'
import type { ErrorName, Wording } from './error-table.ts'
import type { Fields } from './request-fields.ts'
import type { Responder } from './responder.ts'

/** How the simulator plays the vendor of one protocol. */
export type SimulatedDialect = {
  /** The end of the paths that speak it. */
  path: RegExp
  reader: RequestReader
  responder: Responder
  /** Where the vendor's words for an error differ from the common ones; without it, nowhere. */
  wordingOf?(error: ErrorName): Partial<Wording> | undefined
  errorBody(wording: Wording, context: ErrorBodyContext): Json
}

/** Where the parts of a request are. */
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
