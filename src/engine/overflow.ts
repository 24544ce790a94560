import { estimateTokens, FILL_LIMIT } from '../core/compaction.ts'
import type { Failure } from '../core/failure.ts'
import type { Turn } from '../core/turn.ts'
import type { Question } from './attempt.ts'

/** Compactions of one turn after which it goes on without more of them. */
const MAX_COMPACTIONS = 3
/** Fewer messages than this are not worth a summary. */
const LEAST_MESSAGES = 3

type Room = { canCompact: boolean; overflow?: Failure }

/**
 * Whether the next request would overflow, seen before it is paid for: by what the provider counted for the last answer,
 * by an estimate where it has counted nothing. Only told where room can be made; otherwise the provider decides.
 */
export function overflowOf(question: Question, { turn, window }: { turn: Turn; window: number | undefined }): Room {
  const { messages } = question
  const isSpent = turn.ways.answer.spent.includes('compact') || turn.compactions >= MAX_COMPACTIONS
  const canCompact = !isSpent && messages.length >= LEAST_MESSAGES
  if (!canCompact || window === undefined) return { canCompact }
  const tokens =
    turn.contextTokens === undefined ? estimateQuestion(question) : turn.contextTokens + sinceAnswer(question)
  if (tokens <= FILL_LIMIT * window) return { canCompact }
  const detail = `about ${tokens} tokens would fill more than ${FILL_LIMIT * 100} % of a window of ${window}; nobody was asked`
  return { canCompact, overflow: { kind: 'context-overflow', detail } }
}

/** What the provider has not counted yet: results and messages that came after the last answer. */
function sinceAnswer({ messages }: Question): number {
  const last = messages.findLastIndex((body) => body.role === 'assistant')
  return messages.slice(last + 1).reduce((sum, body) => sum + estimateTokens(body), 0)
}

function estimateQuestion({ system, messages, tools }: Question): number {
  return fixedTokens({ system, tools }) + messages.reduce((sum, body) => sum + estimateTokens(body), 0)
}

export const fixedTokens = ({ system, tools }: Pick<Question, 'system' | 'tools'>): number =>
  Math.ceil((system.length + JSON.stringify(tools).length) / 4)
