import type { Json } from '../core/json.ts'
import type { HttpDialect } from '../core/message.ts'
import type { ErrorName } from './vendor-errors.ts'

/** What the simulator says next, as data: an operator keeps it in a file. The first rule that matches answers. */
export type Script = Rule[]

export type Rule = {
  /** Everything named must hold. A rule without it meets every model request. */
  when?: When
  /** How often it answers before the next rule has its turn; without it, always. */
  times?: number
  answer: Answer
}

export type ModelProtocol = HttpDialect
/** What else it serves. Rules meet these requests only if they name them. */
export type SideProtocol = 'models' | 'embeddings' | 'oauth' | 'account' | 'copilot'
export type Protocol = ModelProtocol | SideProtocol

export type When = {
  model?: string
  key?: string
  /** A part of the path: simulated providers of one protocol can differ by a prefix. */
  path?: string
  protocol?: Protocol
  /** The how-manieth request that meets the rest of this rule's conditions, from 1. */
  attempt?: number
  /** Somewhere in the body, as JSON or as the text it stands for. */
  contains?: string
  /** Somewhere in the last message. */
  lastContains?: string
  /** Parts of header values, by lower-case header name. */
  headers?: Record<string, string>
  streams?: boolean
  hasTools?: boolean
  hasImages?: boolean
  /** Images inside tool results. */
  hasToolImages?: boolean
  hasSignatures?: boolean
  hasEncrypted?: boolean
  maxTokensAbove?: number
  messagesAbove?: number
  bytesAbove?: number
}

export type Answer = Reply | VendorError | RawAnswer | LineAnswer

/** What a model would say. With nothing in it, it is an empty answer. */
export type Reply = {
  text?: string
  reasoning?: Reasoning
  calls?: Call[]
  refusal?: string
  usage?: TokenUsage
  /** Without it: 'tool-calls' if there are calls, 'refusal' if it refuses, 'stop' otherwise. */
  finish?: FinishName
  /** How ids of calls come in a stream. Vendors say them `once`; some servers do not. */
  callIds?: 'once' | 'repeated' | 'changed' | 'shared'
  pace?: Pace
  /** What goes wrong on the way, in this order. */
  breaks?: Break | Break[]
}

export type FinishName = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'pause'

export type Reasoning = {
  text?: string
  /** Anthropic's signature, Gemini's thoughtSignature, the signature of an OpenRouter detail. */
  signature?: string
  /** The encrypted content of a Responses item, or of an OpenRouter detail. */
  encrypted?: string
  /** Anthropic's redacted thinking. */
  redacted?: string
  /** Chat servers differ in the name; OpenRouter's `reasoning` brings `reasoning_details` with it. */
  field?: 'reasoning_content' | 'reasoning'
}

export type Call = {
  id?: string
  name: string
  arguments?: Json
  /** Arguments as they come, where they are not JSON. */
  json?: string
  /** Gemini's thoughtSignature on the call. */
  signature?: string
}

/** `input` is the whole prompt, cached and written tokens included. */
export type TokenUsage =
  | { input?: number; output?: number; cached?: number; written?: number; reasoning?: number }
  | 'none'

/** Delays are only where they are asked for. */
export type Pace = {
  beforeHeadersMs?: number
  beforeFirstChunkMs?: number
  /** Between two writes. */
  everyMs?: number
  /** Characters in each delta. */
  charactersPerChunk?: number
  /** Writes so many bytes at a time, whatever they are in the middle of. */
  bytesPerWrite?: number
}

/** Chunks are events of the stream, counted from 1; bytes are those of the body. */
export type Break =
  | ({ how: 'reset' | 'cut' | 'end' | 'stall' } & Place)
  /** Ends well, and never says why it stopped. */
  | { how: 'no-finish' }
  /** Signs of life before the answer: so many, or for ever and no answer. */
  | { how: 'pings'; count?: number; everyMs: number }
  | { how: 'malformed' | 'duplicate' | 'joined'; chunk: number }
  /** An error inside a 200; `as: failed` is the `response.failed` of Responses. */
  | { how: 'error-event'; error: ErrorName; afterChunks?: number; message?: string; as?: 'event' | 'failed' }

/** `reset` is a TCP reset, `cut` a connection that closes, `end` a body that ends well, `stall` silence. */
export type Place = { atByte?: number; afterChunks?: number }

/** A vendor's error in the shape of the protocol that was asked. */
export type VendorError = {
  error: ErrorName
  message?: string
  status?: number
  headers?: Record<string, string>
  retryAfterSeconds?: number
  /** The window or the output tokens the message speaks of. */
  limit?: number
  pace?: Pace
}

/** Any answer at all. */
export type RawAnswer = { status: number; headers?: Record<string, string>; body?: Json; pace?: Pace }

/** `silent`: accepted, and never a word. `reset`: before the first byte. `refuse`: so, and the port is closed for a while. */
export type LineAnswer = { line: 'silent' | 'reset' | 'cut' } | { line: 'refuse'; forMs: number }

/** What a key may do; it can be changed at any time. Without any known key, every key is valid. */
export type KeyState =
  | 'valid'
  | 'revoked'
  | 'expired'
  | 'out-of-credit'
  | 'limited'
  /** Valid again after `until` (milliseconds since 1970). */
  | { state: 'limited'; until: number }
