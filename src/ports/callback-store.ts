import type { CallbackOutcome } from '../core/callback.ts'
import type { RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { AddressTrust } from './safe-fetch.ts'

/** Where a run tells that it is over, and how far whoever asked for that may reach. */
export type CallbackRequest = { url: string; trust: AddressTrust }

/** The right to send it until the lease ends. `tries` counts this one, and is what its outcome is told with. */
export type ClaimedCallback = CallbackRequest & { run: Run; tries: number }

/** Callbacks of runs that are over, of every organization. */
export type CallbackStore = {
  /** When the next one is to be sent; undefined if there is none. */
  nextDue(): Promise<number | undefined>
  /** The one that was due first, if it is due now. Nobody else is handed it before `leaseMs` are over. */
  claim(now: number, leaseMs: number): Promise<ClaimedCallback | undefined>
  /** False: the lease ended and somebody else has it, or the run is gone. Nothing was changed. */
  record(runId: RunId, tries: number, outcome: CallbackOutcome): Promise<boolean>
}
