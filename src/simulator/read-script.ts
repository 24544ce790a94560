import { DIALECTS } from '../core/message.ts'
import type {
  Answer,
  Break,
  Call,
  LineAnswer,
  Pace,
  Place,
  RawAnswer,
  Reasoning,
  Reply,
  Rule,
  Script,
  TokenUsage,
  VendorError,
  When,
} from './script.ts'
import {
  anything,
  type Complaint,
  depending,
  isObject,
  list,
  object,
  oneOf,
  record,
  type Shape,
  text,
  truth,
  whole,
} from './shape.ts'
import { ERROR_NAMES } from './vendor-errors.ts'

export type ScriptRead = { type: 'read'; script: Script } | { type: 'refused'; complaints: Complaint[] }

/** What a script file holds, or what is wrong with it and where. */
export function readScript(source: string): ScriptRead {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (fault) {
    const found = fault instanceof Error ? fault.message : String(fault)
    return { type: 'refused', complaints: [{ path: 'the file', expected: 'JSON', found }] }
  }
  const complaints = SCRIPT.check(value, 'script')
  return complaints.length === 0 ? { type: 'read', script: value as Script } : { type: 'refused', complaints }
}

export const describeComplaint = ({ path, expected, found }: Complaint): string =>
  `${path}: expected ${expected}, found ${found}`

const milliseconds = whole(0)
const errorName = oneOf(...ERROR_NAMES)
const headers = record(text)

const PACE: Shape<Pace> = object<Pace>({
  beforeHeadersMs: milliseconds,
  beforeFirstChunkMs: milliseconds,
  everyMs: milliseconds,
  charactersPerChunk: whole(1),
  bytesPerWrite: whole(1),
})

const WHEN: Shape<When> = object<When>({
  model: text,
  key: text,
  path: text,
  protocol: oneOf(...DIALECTS, 'models', 'oauth', 'account', 'copilot'),
  attempt: whole(1),
  contains: text,
  lastContains: text,
  headers,
  streams: truth,
  hasTools: truth,
  hasImages: truth,
  hasToolImages: truth,
  hasSignatures: truth,
  hasEncrypted: truth,
  maxTokensAbove: whole(0),
  messagesAbove: whole(0),
  bytesAbove: whole(0),
})

const REASONING: Shape<Reasoning> = object<Reasoning>({
  text,
  signature: text,
  encrypted: text,
  redacted: text,
  field: oneOf('reasoning_content', 'reasoning'),
})

const CALL: Shape<Call> = object<Call>({ id: text, name: text, arguments: anything, json: text, signature: text }, [
  'name',
])

type Counted = Exclude<TokenUsage, 'none'>
const tokens = whole(0)
const COUNTED = object<Counted>({ input: tokens, output: tokens, cached: tokens, written: tokens, reasoning: tokens })
const USAGE = depending<TokenUsage>('an object of token numbers, or "none"', (value) =>
  isObject(value) ? COUNTED : oneOf('none'),
)

type BreakOf<How extends Break['how']> = Extract<Break, { how: How }>
const placed = object<Place & { how: 'reset' | 'cut' | 'end' | 'stall' }>({
  how: oneOf('reset', 'cut', 'end', 'stall'),
  atByte: whole(0),
  afterChunks: whole(0),
})
const inChunk = object<{ how: 'malformed' | 'duplicate' | 'joined'; chunk: number }>(
  { how: oneOf('malformed', 'duplicate', 'joined'), chunk: whole(1) },
  ['chunk'],
)
const BREAKS: Record<Break['how'], Shape<Break>> = {
  reset: placed,
  cut: placed,
  end: placed,
  stall: placed,
  malformed: inChunk,
  duplicate: inChunk,
  joined: inChunk,
  'no-finish': object<BreakOf<'no-finish'>>({ how: oneOf('no-finish') }),
  pings: object<BreakOf<'pings'>>({ how: oneOf('pings'), count: whole(0), everyMs: milliseconds }, ['everyMs']),
  'error-event': object<BreakOf<'error-event'>>(
    {
      how: oneOf('error-event'),
      error: errorName,
      afterChunks: whole(0),
      message: text,
      as: oneOf('event', 'failed'),
    },
    ['error'],
  ),
}
const BREAK = depending<Break>(`an object whose "how" is one of ${Object.keys(BREAKS).join(', ')}`, (value) =>
  isObject(value) && Object.hasOwn(BREAKS, String(value.how)) ? BREAKS[value.how as Break['how']] : undefined,
)

const REPLY: Shape<Reply> = object<Reply>({
  text,
  reasoning: REASONING,
  calls: list(CALL),
  refusal: text,
  usage: USAGE,
  finish: oneOf('stop', 'length', 'tool-calls', 'refusal', 'pause'),
  callIds: oneOf('once', 'repeated', 'changed', 'shared'),
  pace: PACE,
  breaks: depending<Break | Break[]>('a break, or a list of them', (value) =>
    Array.isArray(value) ? list(BREAK) : BREAK,
  ),
})

const VENDOR_ERROR: Shape<VendorError> = object<VendorError>(
  {
    error: errorName,
    message: text,
    status: whole(100),
    headers,
    retryAfterSeconds: whole(0),
    limit: whole(1),
    pace: PACE,
  },
  ['error'],
)

const RAW: Shape<RawAnswer> = object<RawAnswer>({ status: whole(100), headers, body: anything, pace: PACE }, ['status'])

type Refusing = Extract<LineAnswer, { line: 'refuse' }>
const LINE = depending<LineAnswer>('an object with "line"', (value) =>
  isObject(value) && value.line === 'refuse'
    ? object<Refusing>({ line: oneOf('refuse'), forMs: milliseconds }, ['forMs'])
    : object<Exclude<LineAnswer, Refusing>>({ line: oneOf('silent', 'reset', 'cut') }, ['line']),
)

const ANSWER = depending<Answer>('what a model says, or an object with "error", "status" or "line"', (value) => {
  if (!isObject(value)) return undefined
  if ('line' in value) return LINE
  if ('error' in value) return VENDOR_ERROR
  return 'status' in value ? RAW : REPLY
})

const SCRIPT: Shape<Script> = list(object<Rule>({ when: WHEN, times: whole(1), answer: ANSWER }, ['answer']))
