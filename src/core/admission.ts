import { defined } from './defined.ts'
import type { RunId } from './id.ts'

/** What a new input does when its conversation is busy. */
export type AdmissionPolicy = 'reject' | 'enqueue' | 'interrupt' | 'steer'

/** Inputs that may wait in one conversation. */
export const MAX_QUEUED_INPUTS = 32

export type Occupancy = { running?: RunId; waiting?: RunId; queued: number }

type Admission =
  | { type: 'open' }
  | { type: 'interrupt-then-open'; running: RunId }
  | { type: 'steer-into'; running: RunId }
  | { type: 'refuse'; refusal: 'busy' | 'queue-full' | 'pending-approval'; runId?: RunId }

/** Called inside the transaction that opens the run, so that two senders cannot both be admitted. */
export function decideAdmission(policy: AdmissionPolicy, { running, waiting, queued }: Occupancy): Admission {
  if (waiting) return { type: 'refuse', refusal: 'pending-approval', runId: waiting }
  if (policy === 'steer' && running) return { type: 'steer-into', running }
  if (policy === 'reject' && (running || queued > 0))
    return { type: 'refuse', refusal: 'busy', ...defined({ runId: running || undefined }) }
  if (queued >= MAX_QUEUED_INPUTS)
    return { type: 'refuse', refusal: 'queue-full', ...defined({ runId: running || undefined }) }
  if (policy === 'interrupt' && running) return { type: 'interrupt-then-open', running }
  return { type: 'open' }
}
