import { z } from 'zod'
import type { Json } from '../core/json.ts'
import { DIALECTS } from '../core/message.ts'
import { ERROR_NAMES } from './error-table.ts'
import { dependingOn, fields, flag, headers, list, oneOf, text, wholeNumber } from './script-fields.ts'

const milliseconds = wholeNumber(0)
const errorName = oneOf(ERROR_NAMES)
/** The value comes from JSON.parse, so any value is JSON. */
const json = z.custom<Json>(() => true)

/** Endpoints besides model requests. A rule matches them only if it names the protocol. */
const OTHER_PROTOCOLS = ['models', 'embeddings', 'oauth', 'account', 'copilot'] as const

const when = fields({
  model: text.exactOptional(),
  key: text.exactOptional(),
  /** A part of the path: simulated providers of one protocol can differ by a prefix. */
  path: text.exactOptional(),
  protocol: oneOf([...DIALECTS, ...OTHER_PROTOCOLS]).exactOptional(),
  /** Number of this request among those that match the other conditions of the rule, from 1. */
  attempt: wholeNumber(1).exactOptional(),
  /** Text anywhere in the body, as JSON or decoded. */
  contains: text.exactOptional(),
  /** Text in the last message. */
  lastContains: text.exactOptional(),
  /** Parts of header values, by lower-case header name. */
  headers: headers.exactOptional(),
  streams: flag.exactOptional(),
  hasTools: flag.exactOptional(),
  hasImages: flag.exactOptional(),
  /** Images inside tool results. */
  hasToolImages: flag.exactOptional(),
  hasSignatures: flag.exactOptional(),
  hasEncrypted: flag.exactOptional(),
  maxTokensAbove: wholeNumber(0).exactOptional(),
  messagesAbove: wholeNumber(0).exactOptional(),
  bytesAbove: wholeNumber(0).exactOptional(),
})

const reasoning = fields({
  text: text.exactOptional(),
  /** Anthropic's signature, Gemini's thoughtSignature, the signature of an OpenRouter detail. */
  signature: text.exactOptional(),
  /** The encrypted content of a Responses item, or of an OpenRouter detail. */
  encrypted: text.exactOptional(),
  /** Anthropic's redacted thinking. */
  redacted: text.exactOptional(),
  /** Chat servers differ in the name; OpenRouter's `reasoning` brings `reasoning_details` with it. */
  field: oneOf(['reasoning_content', 'reasoning']).exactOptional(),
})

const call = fields({
  id: text.exactOptional(),
  name: text,
  arguments: json.exactOptional(),
  /** Raw arguments, for invalid JSON. */
  json: text.exactOptional(),
  /** Gemini's thoughtSignature on the call. */
  signature: text.exactOptional(),
})

/** `input` is the whole prompt, cached and written tokens included. */
const countedUsage = fields({
  input: wholeNumber(0).exactOptional(),
  output: wholeNumber(0).exactOptional(),
  cached: wholeNumber(0).exactOptional(),
  written: wholeNumber(0).exactOptional(),
  reasoning: wholeNumber(0).exactOptional(),
})
const noUsage = z.literal('none', 'an object of token numbers, or "none"')
const usage = dependingOn((value) => (typeof value === 'object' ? countedUsage : noUsage))

/** Without a value there is no delay. */
const pace = fields({
  beforeHeadersMs: milliseconds.exactOptional(),
  beforeFirstChunkMs: milliseconds.exactOptional(),
  /** Between two writes. */
  everyMs: milliseconds.exactOptional(),
  /** Characters in each delta. */
  charactersPerChunk: wholeNumber(1).exactOptional(),
  /** Bytes per write; splits characters and events anywhere. */
  bytesPerWrite: wholeNumber(1).exactOptional(),
})

/** `reset`: TCP reset. `cut`: closed connection. `end`: the body ends normally. `stall`: silence. */
const placedBreak = fields({
  how: oneOf(['reset', 'cut', 'end', 'stall']),
  atByte: wholeNumber(0).exactOptional(),
  afterChunks: wholeNumber(0).exactOptional(),
})
const chunkBreak = fields({ how: oneOf(['malformed', 'duplicate', 'joined']), chunk: wholeNumber(1) })
/** The stream ends without a finish reason. */
const noFinish = fields({ how: oneOf(['no-finish']) })
/** Pings before the answer; without a count they never stop and no answer follows. */
const pings = fields({ how: oneOf(['pings']), count: wholeNumber(0).exactOptional(), everyMs: milliseconds })
/** An error inside a 200; `as: failed` is the `response.failed` of Responses. */
const errorEvent = fields({
  how: oneOf(['error-event']),
  error: errorName,
  afterChunks: wholeNumber(0).exactOptional(),
  message: text.exactOptional(),
  as: oneOf(['event', 'failed']).exactOptional(),
})
const BREAKS = {
  reset: placedBreak,
  cut: placedBreak,
  end: placedBreak,
  stall: placedBreak,
  malformed: chunkBreak,
  duplicate: chunkBreak,
  joined: chunkBreak,
  'no-finish': noFinish,
  pings,
  'error-event': errorEvent,
}
const unknownBreak = z.never(`an object whose "how" is one of ${Object.keys(BREAKS).join(', ')}`)

/** Chunks are events of the stream, counted from 1; bytes are those of the body. */
const oneBreak = dependingOn((value) => {
  const how = (value as { how?: unknown } | null)?.how
  return typeof how === 'string' && Object.hasOwn(BREAKS, how) ? BREAKS[how as keyof typeof BREAKS] : unknownBreak
})

/** A reply of the model. An empty object is an empty answer. */
const reply = fields({
  text: text.exactOptional(),
  reasoning: reasoning.exactOptional(),
  calls: list(call, 'calls').exactOptional(),
  refusal: text.exactOptional(),
  usage: usage.exactOptional(),
  /** Without it: 'tool-calls' if there are calls, 'refusal' if it refuses, 'stop' otherwise. */
  finish: oneOf(['stop', 'length', 'tool-calls', 'refusal', 'pause']).exactOptional(),
  /** How call ids appear in a stream. Vendors send them `once`; some servers do not. */
  callIds: oneOf(['once', 'repeated', 'changed', 'shared']).exactOptional(),
  pace: pace.exactOptional(),
  /** Faults applied to the reply, in this order. */
  breaks: dependingOn((value) => (Array.isArray(value) ? list(oneBreak, 'breaks') : oneBreak)).exactOptional(),
})

/** A vendor's error in the format of the requested protocol. */
const vendorError = fields({
  error: errorName,
  message: text.exactOptional(),
  status: wholeNumber(100).exactOptional(),
  headers: headers.exactOptional(),
  retryAfterSeconds: wholeNumber(0).exactOptional(),
  /** The context window or output limit in the message. */
  limit: wholeNumber(1).exactOptional(),
  pace: pace.exactOptional(),
})

/** Any HTTP response. */
const rawAnswer = fields({
  status: wholeNumber(100),
  headers: headers.exactOptional(),
  body: json.exactOptional(),
  pace: pace.exactOptional(),
})

/** `silent`: no response. `reset`, `cut`: before the first byte. `refuse`: the port is closed for `forMs`. */
const refusedLine = fields({ line: oneOf(['refuse']), forMs: milliseconds })
const brokenLine = fields({ line: z.enum(['silent', 'reset', 'cut'], 'one of "silent", "reset", "cut", "refuse"') })

const noAnswer = z.never('what a model says, or an object with "error", "status" or "line"')
const answer = dependingOn((value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return noAnswer
  if ('line' in value) return value.line === 'refuse' ? refusedLine : brokenLine
  if ('error' in value) return vendorError
  return 'status' in value ? rawAnswer : reply
})

const rule = fields({
  /** All conditions must hold. A rule without conditions matches every model request. */
  when: when.exactOptional(),
  /** How often the rule answers before the next matching rule takes over; without it, always. */
  times: wholeNumber(1).exactOptional(),
  answer,
})

/** The rules of the simulator, as in a script file. The first rule that matches answers. */
export const scriptSchema = list(rule, 'rules')

export type Script = z.infer<typeof scriptSchema>
export type Rule = z.infer<typeof rule>
export type When = z.infer<typeof when>
export type ModelProtocol = (typeof DIALECTS)[number]
export type OtherProtocol = (typeof OTHER_PROTOCOLS)[number]
export type Protocol = ModelProtocol | OtherProtocol
export type Answer = z.infer<typeof answer>
export type Reply = z.infer<typeof reply>
export type FinishName = NonNullable<Reply['finish']>
export type Reasoning = z.infer<typeof reasoning>
export type Pace = z.infer<typeof pace>
export type Break = z.infer<typeof oneBreak>
export type BreakPosition = Omit<z.infer<typeof placedBreak>, 'how'>
export type VendorError = z.infer<typeof vendorError>
export type ConnectionAnswer = z.infer<typeof refusedLine> | z.infer<typeof brokenLine>

/** State of a key; it can change at any time. Without any known key, every key is valid. */
export type KeyState =
  | 'valid'
  | 'revoked'
  | 'expired'
  | 'out-of-credit'
  | 'limited'
  /** Valid again after `until` (milliseconds since 1970). */
  | { state: 'limited'; until: number }
