import type { Part } from '../../core/answer.ts'
import type { Dialect } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { Quirks } from './quirks.ts'

/** One provider language as two pure halves; sockets, deadlines and errors are the transport's. */
export type WireDialect = {
  name: Dialect
  encode(request: ModelRequest, at: EncodeContext): EncodedRequest
  newDecoder(context: DecodeContext): Decoder
}

export type EncodeContext = { grant?: Grant; quirks: Quirks }
export type DecodeContext = { provider: string; model: string }

/** `path` is added to the base URL. The body is text, put together from the cached forms of committed messages. */
export type EncodedRequest = { path: string; headers: Record<string, string>; body: string }

/** Reads one answer. Malformed events are failures, never exceptions. */
export type Decoder = {
  take(event: { event?: string; data: string }): Part[]
  /** The connection ended well; what is still to be said. An answer without its finish gets none here: it was cut off. */
  end(): Part[]
}
