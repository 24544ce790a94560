import { estimateTokens, FILL_LIMIT } from '../core/compaction.ts'
import type { Failure } from '../core/failure.ts'
import type { Turn } from '../core/turn.ts'
import type { RequestContent } from './attempt.ts'

/** Maximum number of compactions in one turn. */
const MAX_COMPACTIONS = 3
/** Fewer messages than this are not worth a summary. */
const MIN_MESSAGES = 3

type OverflowCheck = { canCompact: boolean; overflow?: Failure }

/**
 * Whether the next request would overflow the context window: by the provider's token count of the last answer, or by
 * an estimate before there is one. Reported only if the context can be compacted; otherwise the provider decides.
 */
export function checkOverflow(
  content: RequestContent,
  { turn, window }: { turn: Turn; window: number | undefined },
): OverflowCheck {
  const { messages } = content
  const isSpent = turn.attempts.answer.spent.includes('compact') || turn.compactions >= MAX_COMPACTIONS
  const canCompact = !isSpent && messages.length >= MIN_MESSAGES
  if (!canCompact || window === undefined) return { canCompact }
  const tokens =
    turn.contextTokens === undefined ? estimateRequest(content) : turn.contextTokens + tokensSinceAnswer(content)
  if (tokens <= FILL_LIMIT * window) return { canCompact }
  const detail = `about ${tokens} tokens exceed ${FILL_LIMIT * 100} % of the context window of ${window}; no request was sent`
  return { canCompact, overflow: { kind: 'context-overflow', detail } }
}

/** Estimate of the results and messages after the last answer, which the provider has not counted yet. */
function tokensSinceAnswer({ messages }: RequestContent): number {
  const last = messages.findLastIndex((body) => body.role === 'assistant')
  return messages.slice(last + 1).reduce((sum, body) => sum + estimateTokens(body), 0)
}

function estimateRequest({ system, messages, tools }: RequestContent): number {
  return fixedTokens({ system, tools }) + messages.reduce((sum, body) => sum + estimateTokens(body), 0)
}

export const fixedTokens = ({ system, tools }: Pick<RequestContent, 'system' | 'tools'>): number =>
  Math.ceil((system.length + JSON.stringify(tools).length) / 4)
