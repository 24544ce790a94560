import { estimateTokens, FILL_LIMIT } from '../core/compaction.ts'
import type { Failure } from '../core/failure.ts'
import type { Turn } from '../core/turn.ts'
import type { RequestContent } from './attempt.ts'

/** Compactions of one turn after which it goes on without more of them. */
const MAX_COMPACTIONS = 3
/** Fewer messages than this are not worth a summary. */
const MIN_MESSAGES = 3

type OverflowCheck = { canCompact: boolean; overflow?: Failure }

/**
 * Whether the next request would overflow, seen before it is paid for: by what the provider counted for the last answer,
 * by an estimate where it has counted nothing. Only told where room can be made; otherwise the provider decides.
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
  const detail = `about ${tokens} tokens would fill more than ${FILL_LIMIT * 100} % of a window of ${window}; nobody was asked`
  return { canCompact, overflow: { kind: 'context-overflow', detail } }
}

/** What the provider has not counted yet: results and messages that came after the last answer. */
function tokensSinceAnswer({ messages }: RequestContent): number {
  const last = messages.findLastIndex((body) => body.role === 'assistant')
  return messages.slice(last + 1).reduce((sum, body) => sum + estimateTokens(body), 0)
}

function estimateRequest({ system, messages, tools }: RequestContent): number {
  return fixedTokens({ system, tools }) + messages.reduce((sum, body) => sum + estimateTokens(body), 0)
}

export const fixedTokens = ({ system, tools }: Pick<RequestContent, 'system' | 'tools'>): number =>
  Math.ceil((system.length + JSON.stringify(tools).length) / 4)
