import type { ImagePart } from './image-part.ts'
import type { Decision, ToolCall } from './tool-call.ts'
import type { CallState, Turn } from './turn.ts'
import { isUndecided, openCalls } from './turn.ts'

/** A decision as received: the digest is optional and is taken from the pending call if absent. */
export type Verdict =
  | { callId: string; verdict: 'approve'; digest?: string }
  | { callId: string; verdict: 'deny'; reason?: string }
  | { callId: string; verdict: 'result'; status: 'success' | 'error'; output: string; images?: ImagePart[] }

/** The calls of a waiting turn that need a decision. */
export const undecidedCalls = (turn: Turn): CallState[] =>
  turn.phase === 'waiting' ? openCalls(turn).filter(isUndecided) : []

/** Verdicts must cover every undecided call exactly once and with unchanged arguments; otherwise all are refused. */
export function resolveVerdicts(
  undecided: readonly ToolCall[],
  verdicts: readonly Verdict[],
): { decisions: Decision[] } | { refusal: string } {
  const expected = undecided.map((call) => call.callId)
  const received = verdicts.map((verdict) => verdict.callId)
  const isSameSet = expected.length === new Set(received).size && received.every((id) => expected.includes(id))
  if (!isSameSet || received.length !== expected.length)
    return {
      refusal: `Invalid tool call IDs. Expected '${expected.join(', ')}', but received '${received.join(', ')}'.`,
    }

  const decisions: Decision[] = []
  for (const call of undecided) {
    const verdict = verdicts.find((one) => one.callId === call.callId)!
    if (verdict.verdict !== 'approve') {
      decisions.push(verdict)
      continue
    }
    if (verdict.digest !== undefined && verdict.digest !== call.digest)
      return { refusal: `The arguments of ${call.callId} differ from those the approval was given for.` }
    decisions.push({ callId: call.callId, verdict: 'approve', digest: call.digest })
  }
  return { decisions }
}
