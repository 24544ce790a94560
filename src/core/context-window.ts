import { defined } from './defined.ts'

/** Used for models with an unknown window: small enough for nearly all of them. */
export const DEFAULT_WINDOW = 128_000

/** Tokens that a window must leave for the conversation, beside the system prompt and the tools. */
export const LEAST_ROOM = 256

/** The share of the context window that a conversation may fill before it is compacted. */
export const DEFAULT_THRESHOLD = 0.9
export const THRESHOLD_RANGE = { min: 0.1, max: 1 } as const

type Filling = {
  window: number
  threshold: number
  /** Tokens of every request besides its messages. */
  fixed: number
}

/** Tokens that a request may have before the conversation is compacted. */
export const fillLimit = ({ window, threshold, fixed }: Filling): number =>
  Math.min(window, Math.max(threshold * window, fixed + LEAST_ROOM))

/** Why a window cannot hold any conversation with this system prompt and these tools; undefined if it can. */
export function windowFault(window: number, fixed: number): string | undefined {
  if (fixed + LEAST_ROOM <= window) return undefined
  return `${fixedPart(fixed)} That does not fit into a context window of ${window} tokens.`
}

/** What the operator can do about a system prompt and tools that are too long. */
export const fixedAdvice = (fixed: number): string =>
  `${fixedPart(fixed)} Shorten the system prompt or the memory, remove tools, or use a model with a larger context window.`

const fixedPart = (fixed: number): string =>
  `The system prompt and the tools take about ${fixed} tokens, and a conversation needs ${LEAST_ROOM} more.`

type RefusedRequest = {
  /** The estimated size of the refused request, and the part of it that cannot be cut. */
  sent: number
  fixed: number
  /** The window that was assumed; absent if it was unknown. */
  window?: number
  /** The window was already lowered in this turn. */
  isLowered: boolean
  /** The window that the provider stated with the refusal. */
  stated?: number
}

/** Below this share of a stated window an estimate cannot be wrong enough to explain the refusal. */
const PLAUSIBLE_SHARE = 1 / 4

/**
 * The window to assume after a provider refused a request as too long, in estimated tokens: a stated one, or a step
 * down from what was refused, so that the same request is not sent again. Undefined: nothing smaller is left to try.
 */
export function smallerWindow({ sent, fixed, window, isLowered, stated }: RefusedRequest): number | undefined {
  const before = window ?? Number.POSITIVE_INFINITY
  const isNews = stated !== undefined && stated < before
  // The provider contradicts the estimate: believe it once, and do not guess.
  if (isNews && sent < stated * PLAUSIBLE_SHARE) return stated
  // The first step is short, because the window may be just below; after that each one halves.
  const step = isNews ? 0.9 : isLowered ? 0.5 : 0.75
  if (isLeastRequest({ sent, fixed, ...defined({ window }) })) return undefined
  return Math.max(fixed + LEAST_ROOM, Math.floor(Math.min(before * LEAST_STEP, stated ?? before, sent * step)))
}

/** A smaller step is not worth a request. */
const LEAST_STEP = 0.95

/** Nothing more of the conversation could be left out of this request. */
export const isLeastRequest = ({ sent, fixed, window }: Pick<RefusedRequest, 'sent' | 'fixed' | 'window'>): boolean =>
  fixed + LEAST_ROOM >= Math.min(window ?? Number.POSITIVE_INFINITY, sent) * LEAST_STEP
