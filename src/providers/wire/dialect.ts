import type { Part } from '../../core/answer.ts'
import type { Failure } from '../../core/failure.ts'
import type { HttpDialect } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { EmbeddingWire } from '../embeddings/embedding-wire.ts'
import type { ModelListing } from './model-listing.ts'
import type { Quirks } from './quirks.ts'

/** One provider API as pure functions; the transport handles sockets, deadlines and errors. */
export type WireDialect = {
  name: HttpDialect
  encode(request: ModelRequest, at: EncodeContext): EncodedRequest
  newDecoder(context: DecodeContext): Decoder
  models: ModelListing
  /** Absent if the dialect has no embeddings. */
  embeddings?: EmbeddingWire
}
export type EmbeddingDialect = WireDialect & { embeddings: EmbeddingWire }

export type EncodeContext = { grant?: Grant; quirks: Quirks }
/** For error events inside a 200: the headers of the response, and the classifier that makes the failure. */
export type DecodeContext = {
  provider: string
  model: string
  headers: Readonly<Record<string, string>>
  classify: Classify
}

/** An error response; without a status it is an error event inside a stream. */
export type Refusal = {
  provider: string
  model: string
  status?: number
  headers: Readonly<Record<string, string>>
  body: string
  /** When it arrived: some vendors state the end of a limit as a date. */
  at?: number
}
export type Classify = (refusal: Refusal) => Failure
export type Phase = 'connect' | 'first-byte' | 'between-chunks' | 'body'
export type ClassifyTransport = (error: unknown, phase: Phase) => Failure

/** `path` is appended to the base URL. The body is concatenated from the cached encodings of committed messages. */
export type EncodedRequest = {
  path: string
  headers: Record<string, string>
  body: string
  /** Settings of the request that the model does not take, each with the reason. */
  leftOut?: string[]
}

/** Decodes one answer. A malformed event gives a failure part, never an exception. */
export type Decoder = {
  take(event: { event?: string; data: string }): Part[]
  /**
   * Called when the connection has ended, in any way; returns the remaining parts. They include a finish only if the
   * provider stated one: without it the answer was cut off.
   */
  end(): Part[]
}
