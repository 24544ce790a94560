import type { Part } from '../../core/answer.ts'
import type { Failure } from '../../core/failure.ts'
import type { HttpDialect } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { EmbeddingWire } from '../embeddings/embedding-wire.ts'
import type { ModelListing } from './model-listing.ts'
import type { Quirks } from './quirks.ts'

/** One provider language, as pure functions; sockets, deadlines and errors are the transport's. */
export type WireDialect = {
  name: HttpDialect
  encode(request: ModelRequest, at: EncodeContext): EncodedRequest
  newDecoder(context: DecodeContext): Decoder
  models: ModelListing
  /** Absent: the language has no embeddings. */
  embeddings?: EmbeddingWire
}
export type EmbeddingDialect = WireDialect & { embeddings: EmbeddingWire }

export type EncodeContext = { grant?: Grant; quirks: Quirks }
/** For error events inside a 200: `headers` are those of the response, `classify` makes the failure. */
export type DecodeContext = {
  provider: string
  model: string
  headers: Readonly<Record<string, string>>
  classify: Classify
}

/** What a provider said instead of an answer; without a status it was said inside a stream. */
export type Refusal = {
  provider: string
  model: string
  status?: number
  headers: Readonly<Record<string, string>>
  body: string
  /** When it was said: some state an end as a date. */
  at?: number
}
export type Classify = (refusal: Refusal) => Failure
export type Phase = 'connect' | 'first-byte' | 'between-chunks' | 'body'
export type ClassifyTransport = (error: unknown, phase: Phase) => Failure

/** `path` is added to the base URL. The body is text, put together from the cached forms of committed messages. */
export type EncodedRequest = { path: string; headers: Record<string, string>; body: string }

/** Reads one answer. Malformed events are failures, never exceptions. */
export type Decoder = {
  take(event: { event?: string; data: string }): Part[]
  /**
   * Nothing more will come, however the connection ended; what is still to be said. The finish is among it only if the
   * provider stated one before: without it the answer was cut off.
   */
  end(): Part[]
}
