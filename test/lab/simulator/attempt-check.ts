import type { LoggedEvent } from '../../../src/core/event.ts'
import { LADDER, LONGEST_WAIT_MS } from '../../../src/core/recovery.ts'

/**
 * What the log says about failed attempts, counted from the raw events and not with the fold of the product: a fold that
 * forgets would forget in both places. Each failure must be met by the first rung of its ladder that is left.
 */
export function attemptFaults(events: readonly LoggedEvent[]): string[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const faults: string[] = []
  let target = 0
  let waits = 0
  for (const { seq, event } of events) {
    if (event.type === 'answer-received') waits = 0
    if (event.type === 'answer-received' && event.target !== target)
      faults.push(`I16 event ${seq}: target ${event.target} answered, ${target} was to be asked`)
    if (event.type !== 'attempt-failed') continue
    const ladder = LADDER[event.failure.kind]
    const mayWait =
      waits < ladder.filter((rung) => rung === 'wait').length && (event.failure.retryAfterMs ?? 0) <= LONGEST_WAIT_MS
    const mayMove = ladder.includes('next-target') && target + 1 < first.settings.targets.length
    const expected = mayWait ? 'wait' : mayMove ? 'next-target' : 'give-up'
    if (event.remedy !== expected)
      faults.push(`I16 event ${seq}: ${event.failure.kind} is met by ${event.remedy}, the ladder says ${expected}`)
    if (event.remedy === 'wait') waits++
    if (event.remedy !== 'next-target') continue
    target++
    waits = 0
  }
  return faults
}
