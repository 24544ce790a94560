import type { LoggedEvent } from '../../../src/core/event.ts'
import { POISON_DEATHS } from '../../../src/core/turn.ts'

/**
 * A run that continues an approval follows the verdict of each call, read from the raw events: a denied call is denied,
 * an approved or unguarded call is not, unless the run was stopped first.
 */
export function approvalFaults(events: readonly LoggedEvent[]): string[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted' || !first.continues) return []
  const { calls, decisions } = first.continues
  const faults: string[] = []
  let deaths = 0
  let isStopped = false
  for (const { event } of events) {
    if (event.type === 'worker-lost') deaths++
    if (event.type === 'cancel-requested' || event.type === 'fault-met' || deaths >= POISON_DEATHS) isStopped = true
    // After the next answer, the same call ids belong to other calls.
    if (event.type === 'answer-received') return faults
    if (event.type !== 'tool-ended' || isStopped) continue
    const { callId, status } = event.outcome
    const decision = decisions.find((one) => one.callId === callId)
    const isGuarded = calls.some((call) => call.callId === callId && call.needsApproval)
    const mustBeDenied = decision?.verdict === 'deny' || (isGuarded && !decision)
    if (mustBeDenied !== (status === 'denied'))
      faults.push(`I21 ${callId} ended ${status}, its verdict is ${decision?.verdict ?? 'none'}`)
  }
  return faults
}
