import { thresholdOf } from '../core/compaction.ts'
import { fillLimit, fixedAdvice, LEAST_ROOM, windowFault } from '../core/context-window.ts'
import type { Failure } from '../core/failure.ts'
import { fitMessages } from '../core/fit-messages.ts'
import { estimateAll, fixedTokens } from '../core/token-estimate.ts'
import type { Turn } from '../core/turn.ts'
import { lower, type RequestContent } from './attempt.ts'

/** Fewer messages than this are not worth a summary. */
const MIN_MESSAGES = 3

/** Estimated sizes of a request that was sent; a refusal is measured against them. */
export type SentSize = { sent: number; fixed: number }

type Room = {
  /** The request to send; cut if it would not fit otherwise. */
  content: RequestContent
  size: SentSize
  canCompact: boolean
  /** Set if no request is to be sent. */
  overflow?: Failure
}

type MakeRoomOptions = {
  turn: Turn
  window: number | undefined
  /** How many messages at the end are for this request only. */
  prompts?: number
}

/** The window of a target in this turn: what is known, lowered by refusals and by the limit of the application. */
export const windowIn = (turn: Turn, handle: string, known: number | undefined): number | undefined =>
  lower(lower(known, turn.windows[handle]), turn.settings.windowLimit)

/**
 * Checks whether a request fits the window of its target: by the provider's token count of the last answer, or by an
 * estimate before there is one. A conversation that is too long is compacted; what compaction cannot shorten is cut in
 * the copy that is sent. An unknown window never stops a request: the provider decides.
 */
export function makeRoom(content: RequestContent, { turn, window, prompts }: MakeRoomOptions): Room {
  const { messages } = content
  const fixed = fixedTokens(content)
  const estimate = fixed + estimateAll(messages)
  const size = { sent: estimate, fixed }
  const canCompact = !turn.attempts.answer.spent.includes('compact') && messages.length >= MIN_MESSAGES
  const room: Room = { content, size, canCompact }
  if (window === undefined) return room
  const fault = turn.settings.windowLimit === window ? windowFault(window, fixed) : undefined
  if (fault) {
    const overflow: Failure = {
      kind: 'context-overflow',
      detail: fault,
      fixedTokens: fixed,
      advice: fixedAdvice(fixed),
    }
    return { ...room, canCompact: false, overflow }
  }
  const { contextTokens, attempts } = turn
  // Text that is continued follows the answer that the provider counted.
  const isCounted = contextTokens !== undefined && !attempts.answer.kept
  const tokens = isCounted ? contextTokens + tokensSinceAnswer(content) : estimate
  const limit = fillLimit({ window, threshold: thresholdOf(turn.settings), fixed })
  if (tokens <= limit) return room
  if (canCompact) return { ...room, overflow: tooLong({ tokens, limit, window }) }
  if (tokens <= window) return room
  // The provider may count more tokens than the estimate does.
  const density = Math.max(1, tokens / estimate)
  const cut = { ...content, messages: fitMessages(messages, Math.max(LEAST_ROOM, limit / density - fixed), prompts) }
  return { ...room, content: cut, size: { sent: fixed + estimateAll(cut.messages), fixed } }
}

function tooLong({ tokens, limit, window }: { tokens: number; limit: number; window: number }): Failure {
  const share = Math.round((limit / window) * 100)
  const detail = `about ${tokens} tokens exceed ${share} % of the context window of ${window}; no request was sent`
  return { kind: 'context-overflow', detail }
}

/** Estimate of the results and messages after the last answer, which the provider has not counted yet. */
function tokensSinceAnswer({ messages }: RequestContent): number {
  const last = messages.findLastIndex((body) => body.role === 'assistant')
  return estimateAll(messages.slice(last + 1))
}
