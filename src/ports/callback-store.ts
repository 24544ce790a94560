import type { CallbackOutcome } from '../core/callback.ts'
import type { RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { AddressTrust } from './safe-fetch.ts'

/** URL of a webhook for the end of a run. `trust` follows from the key that requested it. */
export type CallbackRequest = { url: string; trust: AddressTrust }

/** A lease on sending this callback. `tries` counts this attempt and identifies it in `record`. */
export type ClaimedCallback = CallbackRequest & { run: Run; tries: number }

/** Callbacks (webhooks) of ended runs, of all organizations. */
export type CallbackStore = {
  /** Time of the earliest due callback; undefined if there is none. */
  nextDue(): Promise<number | undefined>
  /** Claims the earliest callback due at `now`. No other sender gets it for `leaseMs`. */
  claim(now: number, leaseMs: number): Promise<ClaimedCallback | undefined>
  /** False, with nothing changed: the lease expired and another sender claimed it, or the run is gone. */
  record(runId: RunId, tries: number, outcome: CallbackOutcome): Promise<boolean>
}
