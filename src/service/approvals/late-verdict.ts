import type { Verdict } from '../../core/approval.ts'
import type { LoggedEvent, TurnEvent } from '../../core/event.ts'
import type { Principal } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { Run } from '../../core/run.ts'
import type { Decision } from '../../core/tool-call.ts'

type Answered = Extract<TurnEvent, { type: 'approval-answered' }>

/** The answer that a run got, and when. */
type ApprovalAnswer = { at: number; event: Answered }

export function findAnswer(events: readonly LoggedEvent[]): ApprovalAnswer | undefined {
  for (const { at, event } of events) if (event.type === 'approval-answered') return { at, event }
  return undefined
}

type LateVerdict = {
  events: readonly LoggedEvent[]
  answer: ApprovalAnswer | undefined
  verdicts: readonly Verdict[]
}

/** The refusal of a verdict that came too late: it says what happened instead, when, and who decided it. */
export function lateProblem(run: Run, { events, answer, verdicts }: LateVerdict): Problem {
  if (answer) {
    const { at, event } = answer
    const decided = `${run.id} was answered at ${timeText(at)}${byText(event.by)}: ${decisionsText(event.decisions)}.`
    const known = verdicts.every(({ callId }) => event.decisions.some((one) => one.callId === callId))
    const late = known ? 'This verdict came too late and changes nothing' : 'These are not its calls'
    return new Problem('conflict', `${late}: ${decided} It continues as ${event.continuedBy}.`, {
      runId: run.id,
      continuedBy: event.continuedBy,
    })
  }
  const wasAsked = events.some(({ event }) => event.type === 'turn-ended' && event.stopReason === 'requires_approval')
  const cancel = events.findLast(({ event }) => event.type === 'cancel-requested')
  if (!wasAsked || cancel?.event.type !== 'cancel-requested')
    return new Problem('conflict', 'No tool call is currently awaiting approval.', { runId: run.id })
  const { cause, by } = cancel.event
  const how = cause === 'expiry' ? 'nobody answered in time, and the request expired' : `it was cancelled${byText(by)}`
  return new Problem(
    'conflict',
    `This verdict came too late and changes nothing: the calls of ${run.id} were denied at ${timeText(cancel.at)} because ${how}. They did not run.`,
    { runId: run.id },
  )
}

const WORD: Record<Decision['verdict'], string> = { approve: 'approved', deny: 'denied', result: 'answered' }

export const decisionsText = (decisions: readonly Decision[]): string =>
  decisions.map(({ callId, verdict }) => `${callId.slice(0, 80)} ${WORD[verdict]}`).join(', ')

const timeText = (at: number): string => new Date(at).toISOString()

const NAMES: Partial<Record<Principal['actor'], string>> = {
  home: "the home's own key",
  'command-line': 'the command line',
  gateway: 'a chat',
}

const byText = (by: Principal | undefined): string =>
  by ? ` by ${NAMES[by.actor] ?? by.actor}${by.userId ? ` (${by.userId})` : ''}` : ''
