import type { Verdict } from '../../core/approval.ts'
import { isSamePrincipal, scopeCovers } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { Turn } from '../../core/turn.ts'
import type { ServiceContext } from '../service-context.ts'

/** `what` is a sentence without its end: what the caller may not do. */
export function requireApproveRight(what: string, { caller }: ServiceContext): void {
  if (scopeCovers(caller.scope, 'approve')) return
  throw new Problem('forbidden', `This key has the scope "${caller.scope}"; ${what} needs "approve".`)
}

/**
 * Checks that this caller may give these verdicts. The results of client tools, and the refusal to run one, come from
 * the client itself; every other verdict needs the right to approve, and by policy another key than the one that asked.
 */
export function requireApprover(turn: Turn, verdicts: readonly Verdict[], context: ServiceContext): void {
  const clientTools = new Set((turn.settings.clientTools ?? []).map(({ name }) => name))
  const isClients = (callId: string) =>
    clientTools.has(turn.step?.calls.find((call) => call.callId === callId)?.tool ?? '')
  const decides = verdicts.filter(({ verdict, callId }) => verdict !== 'result' && !isClients(callId))
  if (decides.length > 0) requireApproveRight('deciding calls that wait for approval', context)
  const approves = decides.some(({ verdict }) => verdict === 'approve')
  if (approves) requireOther(turn, context)
}

/** The policy `approval_by: another-key`. A key that asked may still deny. */
function requireOther({ askedBy }: Turn, { caller, defaults }: ServiceContext): void {
  if (defaults.approvalBy !== 'another-key' || !askedBy.some((one) => isSamePrincipal(one, caller))) return
  throw new Problem(
    'forbidden',
    'This key sent the message that led to these calls, and the policy of this server is that another key approves ' +
      '(approval_by: another-key). Approve them with a key of another person, or deny them.',
  )
}

/** A tool that would wait for approval in a turn runs by hand only for callers who could approve it alone. */
export function requireRunByHand(reason: string, context: ServiceContext): void {
  requireApproveRight(`this call waits for approval (${reason}), and running it by hand`, context)
  if (context.defaults.approvalBy !== 'another-key') return
  throw new Problem(
    'forbidden',
    `This call waits for approval (${reason}), and the policy of this server is that another key approves ` +
      '(approval_by: another-key). Send the agent a message, so that somebody else can approve the call.',
  )
}
