import type { LoggedEvent, TurnEvent } from '../../../src/core/event.ts'
import { LADDER, PATIENCE_MS, type Remedy } from '../../../src/core/recovery.ts'

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
type Tried = { target: number; spent: Remedy[]; waitedMs: number }

/**
 * What the log says about failed attempts, counted from the raw events and not with the fold of the product: a fold that
 * forgets would forget in both places. Each failure must be met by the first rung of its ladder that is left.
 */
export function attemptFaults(events: readonly LoggedEvent[]): string[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const faults: string[] = []
  const fresh = (target: number, waitedMs = 0): Tried => ({ target, spent: [], waitedMs })
  const tried = { answer: fresh(0), summary: fresh(0) }
  for (const { seq, event } of events) {
    if (event.type === 'context-compacted') tried.summary = fresh(0)
    if (event.type === 'answer-received') {
      if (event.target !== tried.answer.target)
        faults.push(`I16 event ${seq}: target ${event.target} answered, ${tried.answer.target} was to be asked`)
      tried.answer = fresh(tried.answer.target)
    }
    if (event.type !== 'attempt-failed') continue
    const { purpose = 'answer', remedy, failure } = event
    const so = tried[purpose]
    const allowed = allowedRemedies(event, so, first.settings.targets.length)
    if (!allowed.includes(remedy))
      faults.push(`I16 event ${seq}: ${failure.kind} is met by ${remedy}, the ladder says ${allowed.join(' or ')}`)
    if (remedy === 'give-up') continue
    so.waitedMs += event.waitMs ?? 0
    if (remedy === 'next-target') tried[purpose] = fresh(event.nextTarget ?? so.target + 1, so.waitedMs)
    else if (remedy === 'next-credential') so.spent = so.spent.filter((one) => !OF_A_KEY.includes(one))
    else so.spent.push(remedy)
    if (remedy === 'compact') tried.summary = fresh(0)
  }
  return faults
}

const OF_A_KEY: readonly Remedy[] = ['retry-credential', 'refresh-credential', 'refresh-entitlement', 'next-credential']

/** What depends on credentials, images or room is not in the log: those rungs may be taken or passed. */
const NOT_IN_THE_LOG: readonly Remedy[] = [...OF_A_KEY, 'compact', 'rebuild-transport', 'raise-output-cap']

function allowedRemedies({ failure }: AttemptFailed, { target, spent, waitedMs }: Tried, targets: number) {
  const count = (list: readonly Remedy[], rung: Remedy) => list.filter((one) => one === rung).length
  const ladder = LADDER[failure.kind]
  const allowed: (Remedy | 'give-up')[] = []
  for (const [index, rung] of ladder.entries()) {
    if (count(spent, rung) > count(ladder.slice(0, index), rung)) continue
    if (rung === 'next-target' && target + 1 >= targets) continue
    if (rung === 'adopt-window' && !failure.statedWindow) continue
    if (rung === 'cap-output' && !failure.availableOutput) continue
    const shortest = failure.retryAfterMs ?? Math.min(500 * 2 ** count(spent, 'wait'), 60_000)
    if (rung === 'wait' && shortest > PATIENCE_MS - waitedMs) continue
    allowed.push(rung)
    // Our own delays are spread out by up to a half: close to the end of patience both are right.
    const isSure = rung !== 'wait' || shortest * 1.5 <= PATIENCE_MS - waitedMs
    if (isSure && !NOT_IN_THE_LOG.includes(rung)) return allowed
  }
  return [...allowed, 'give-up' as const]
}
