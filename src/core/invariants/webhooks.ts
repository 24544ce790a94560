import type { RunId } from '../id.ts'
import type { RunStatus } from '../run.ts'
import { deliveryState, type WebhookDelivery } from '../webhook.ts'
import type { Invariant } from './record.ts'

/** A run with a callback, and how many deliveries it has. */
export type CallbackRecord = {
  runId: RunId
  status: RunStatus
  /** Whether a receiver or a sender left a result on the run. */
  hasResult: boolean
  deliveries: number
}

/** A delivery that is about a run, and the status of that run; undefined: there is no such run. */
export type DeliveryRecord = { delivery: WebhookDelivery; run: RunStatus | undefined }

const isOver = (status: RunStatus): boolean => status !== 'created' && status !== 'running'

export const callbacksAreOwed: Invariant<CallbackRecord> = {
  id: 'I45',
  name: 'callbacks-are-owed',
  sentence: 'A run with a callback has one delivery or the result of it once it is over, and none before.',
  promise: 'nothing is lost',
  check({ status, hasResult, deliveries }) {
    if (!isOver(status)) return deliveries > 0 ? ['its webhook is called although the run goes on'] : []
    // The log of deliveries is pruned; the result stays on the run.
    return deliveries > 0 || hasResult ? [] : ['it is over and its webhook was never called']
  },
}

export const deliveriesAreTrue: Invariant<DeliveryRecord> = {
  id: 'I46',
  name: 'deliveries-are-true',
  sentence:
    'A webhook is told only of what has happened, and each delivery is due, delivered, or failed with the reason.',
  promise: 'nothing is hidden',
  check({ delivery, run }) {
    const faults: string[] = []
    if (delivery.runId && run === undefined) faults.push(`it is about ${delivery.runId}, which does not exist`)
    else if (delivery.runId && run && !isOver(run))
      faults.push(`it is about the end of ${delivery.runId}, which is ${run}`)
    if (deliveryState(delivery) === 'failed' && !delivery.error) faults.push('it failed without a reason')
    return faults
  },
}
