import type { ImagePart } from './image-part.ts'
import type { Decision, ToolCall } from './tool-call.ts'
import type { CallState, Turn } from './turn.ts'
import { undecidedCalls as waitingCalls } from './turn.ts'

/** Who may approve a call that waits: `another-key` excludes the senders of its messages. */
export const APPROVERS = ['any-key', 'another-key'] as const

export type Approver = (typeof APPROVERS)[number]

/** A decision as received: the digest is optional and is taken from the pending call if absent. */
export type Verdict =
  | { callId: string; verdict: 'approve'; digest?: string }
  | { callId: string; verdict: 'deny'; reason?: string }
  | { callId: string; verdict: 'result'; status: 'success' | 'error'; output: string; images?: ImagePart[] }

/** The calls of a waiting turn that need a decision. */
export const undecidedCalls = (turn: Turn): CallState[] => (turn.phase === 'waiting' ? waitingCalls(turn) : [])

/**
 * Whether these verdicts repeat decisions that were made before. The reason of a denial may differ: the call was
 * denied either way.
 */
export const isRepeatOf = (verdicts: readonly Verdict[], decisions: readonly Decision[]): boolean =>
  verdicts.length === decisions.length && decisions.every((decision) => verdicts.some((one) => agrees(one, decision)))

function agrees(verdict: Verdict, decision: Decision): boolean {
  if (verdict.callId !== decision.callId || verdict.verdict !== decision.verdict) return false
  if (verdict.verdict === 'approve' && decision.verdict === 'approve')
    return verdict.digest === undefined || verdict.digest === decision.digest
  if (verdict.verdict === 'result' && decision.verdict === 'result')
    return verdict.status === decision.status && verdict.output === decision.output
  return true
}

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
