import type { HookDelivery } from '../hook.ts'
import type { Invariant } from './record.ts'

/** An entry of the log of a hook, and whether the run that it names exists. */
export type HookRecord = { delivery: HookDelivery; hasRun: boolean }

export const hookDeliveriesBecameRuns: Invariant<HookRecord> = {
  id: 'I47',
  name: 'hook-deliveries-became-runs',
  sentence: 'A delivery that a hook accepted has its run; every other one has its reason and no run.',
  promise: 'nothing is lost',
  check({ delivery: { outcome, runId, reason }, hasRun }) {
    if (outcome === 'accepted') return hasRun ? [] : [`it was accepted, and its run ${runId ?? ''} does not exist`]
    if (runId) return [`it was ${outcome} and has the run ${runId}`]
    return reason ? [] : [`it was ${outcome} without a reason`]
  },
}
