import { defined } from './defined.ts'
import type { RunId } from './id.ts'

/**
 * What a new input does when its conversation is busy: it waits in the queue, is refused, joins the running turn, or
 * ends that turn and runs next.
 */
export const ADMISSION_POLICIES = ['queue', 'steer', 'interrupt', 'reject'] as const

export type AdmissionPolicy = (typeof ADMISSION_POLICIES)[number]

/** Inputs that may wait in one conversation. */
export const MAX_QUEUED_INPUTS = 32

/** Inputs that may be steered into one turn between two of its answers. */
export const MAX_STEERED_INPUTS = 32

export type Occupancy = {
  running?: RunId
  waiting?: RunId
  queued: number
  /** Inputs that joined the running turn since its last answer; undefined if it reads none, because it only compacts. */
  steered?: number
}

type Admission =
  | { type: 'open' }
  | { type: 'interrupt-then-open'; running: RunId }
  | { type: 'steer-into'; running: RunId }
  | { type: 'refuse'; refusal: 'busy' | 'queue-full' | 'pending-approval'; runId?: RunId }

/** Called inside the transaction that opens the run, so that two senders cannot both be admitted. */
export function decideAdmission(policy: AdmissionPolicy, { running, waiting, queued, steered }: Occupancy): Admission {
  if (waiting) return { type: 'refuse', refusal: 'pending-approval', runId: waiting }
  if (policy === 'steer' && running && steered !== undefined)
    return steered < MAX_STEERED_INPUTS
      ? { type: 'steer-into', running }
      : { type: 'refuse', refusal: 'queue-full', runId: running }
  if (policy === 'reject' && (running || queued > 0))
    return { type: 'refuse', refusal: 'busy', ...defined({ runId: running || undefined }) }
  if (queued >= MAX_QUEUED_INPUTS)
    return { type: 'refuse', refusal: 'queue-full', ...defined({ runId: running || undefined }) }
  if (policy === 'interrupt' && running) return { type: 'interrupt-then-open', running }
  return { type: 'open' }
}
