import { defined } from '../../core/defined.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'
import type { ErrorBody } from './error-body.ts'

type Sizes = Pick<Failure, 'statedWindow' | 'availableOutput' | 'maxImageSide'>

/** A smaller output limit truncates almost any answer, so the input is treated as too long. */
const LEAST_USEFUL_OUTPUT = 1_024

/** Reads the stated sizes and corrects the kind: an input that fits was rejected for its output cap only. */
export function statedSizes(kind: FailureKind, body: ErrorBody): { kind: FailureKind; sizes: Sizes } {
  const text = body.messages.join(' \n ').replaceAll(/(\d),(?=\d{3}\b)/g, '$1')
  if (kind === 'image-too-large') return { kind, sizes: defined({ maxImageSide: firstNumber(IMAGE_SIDES, text) }) }
  if (kind === 'quota-exhausted') return { kind, sizes: defined({ availableOutput: firstNumber(AFFORDABLE, text) }) }
  if (kind !== 'context-overflow' && kind !== 'output-cap-too-large') return { kind, sizes: {} }
  const request = firstRequest(text)
  const statedWindow = windowOf(body) ?? request?.window ?? firstNumber(WINDOWS, text)
  const availableOutput = outputCapIn(text) ?? roomLeft(request, statedWindow)
  const sizes = defined({ statedWindow, availableOutput })
  if (availableOutput !== undefined)
    return { kind: availableOutput < LEAST_USEFUL_OUTPUT ? 'context-overflow' : 'output-cap-too-large', sizes }
  return { kind: request ? 'context-overflow' : kind, sizes }
}

/** Token counts of the request, as the vendor states them. */
type CountedRequest = { input: number; output?: number; window?: number; isLowerBound?: boolean }

function roomLeft(request: CountedRequest | undefined, window: number | undefined): number | undefined {
  if (!request || window === undefined) return undefined
  const room = window - request.input
  if (room <= 0 || request.output === 0) return undefined
  // vLLM stops counting once the request cannot fit, so the input may be longer than stated.
  if (request.isLowerBound) return (request.output ?? 0) * 4 > window ? Math.floor(room / 2) : undefined
  return room
}

const WINDOWS: readonly RegExp[] = [
  /maximum context length (?:is|of) (\d+)/i,
  /(\d{1,15}) maximum context length/i,
  /context length of only (\d+)/i,
  /prompt is too long: \d+ tokens > (\d+)/i,
  /maximum number of tokens allowed \(?(\d+)/i,
  /range of input length should be \[1, ?(\d+)\]/i,
  /maximum (?:prompt|input) length (?:is|of) (\d+)/i,
  /n_ctx[=: ]+(\d+)/i,
  /available context size \((\d+)/i,
  /exceeds the maximum length(?: of)? (\d+)/i,
  /exceeds the limit of (\d+)/i,
  /context (?:window|length|size|limit)(?: of| is|:)? (\d+)/i,
  /max_model_len[^\d]{0,20}(\d+)/i,
  /must be <= (\d+)/i,
  /最大(?:上下文)?长度[^\d]{0,8}(\d+)/,
]

const OUTPUT_CAPS: readonly RegExp[] = [
  /max_tokens: \d+ > (\d+), which is the maximum allowed/i,
  /supports at most (\d+)/i,
  /range of max_tokens (?:is|should be) \[\d+, ?(\d+)\]/i,
  /must be less than or equal to `?(\d+)/i,
  /max(?:_completion|_output)?_tokens must be less than `?(\d+)/i,
  /available_tokens: (\d+)/i,
]

/** Exclusive upper bounds. */
const OUTPUT_BOUNDS: readonly RegExp[] = [/supported range is from \d+ \(inclusive\) to (\d+) \(exclusive\)/i]

function outputCapIn(text: string): number | undefined {
  const bound = firstNumber(OUTPUT_BOUNDS, text)
  return firstNumber(OUTPUT_CAPS, text) ?? (bound === undefined ? undefined : bound - 1)
}

const AFFORDABLE: readonly RegExp[] = [/can only afford (\d+)/i]

const IMAGE_SIDES: readonly RegExp[] = [/(\d{3,5}) ?(?:pixels|px)\b/i]

const REQUESTS: readonly { pattern: RegExp; read: (found: number[], text: string) => CountedRequest }[] = [
  {
    pattern: /exceed context limit: (\d+) \+ (\d+) > (\d+)/i,
    read: ([input, output, window]) => ({ input: input!, output: output!, window: window! }),
  },
  {
    pattern: /\(((?:\d+ in the (?:messages?|functions?|prompt)[,;] )+)(\d+) (?:in|for) the completion\)/i,
    read: ([, output], text) => ({ input: sumOf(text), output: output! }),
  },
  {
    pattern: /\(((?:\d+ of (?:text|tool|image) input, )+)(\d+) in the output\)/i,
    read: ([, output], text) => ({ input: sumOf(text), output: output! }),
  },
  {
    pattern: /requested (\d+) output tokens and your prompt contains at least (\d+) input tokens/i,
    read: ([output, input]) => ({ input: input!, output: output!, isLowerBound: true }),
  },
  {
    pattern: /requested (\d+) output tokens and your prompt contains (\d+) input tokens/i,
    read: ([output, input]) => ({ input: input!, output: output! }),
  },
  {
    pattern: /request has (\d+) input tokens \((\d+) > \d+ - \d+\)/i,
    read: ([input, output]) => ({ input: input!, output: output! }),
  },
  {
    pattern: /given: (\d+) `inputs` tokens and (\d+) `max_new_tokens`/i,
    read: ([input, output]) => ({ input: input!, output: output! }),
  },
]

function firstRequest(text: string): CountedRequest | undefined {
  for (const { pattern, read } of REQUESTS) {
    const found = pattern.exec(text)
    if (found) return read(found.slice(1).map(Number), found[1] ?? '')
  }
  return undefined
}

function windowOf(body: ErrorBody): number | undefined {
  const window = Number(body.fields.n_ctx)
  return isPlausible(window) ? window : undefined
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  for (const pattern of patterns) {
    const found = Number(pattern.exec(text)?.[1])
    if (isPlausible(found)) return found
  }
  return undefined
}

const isPlausible = (size: number): boolean => Number.isInteger(size) && size > 0 && size <= 100_000_000

const sumOf = (text: string): number => [...text.matchAll(/\d+/g)].reduce((sum, [digits]) => sum + Number(digits), 0)
