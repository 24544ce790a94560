import type { OrganizationId, RunId, WorkerId } from '../core/id.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { Claim } from '../ports/store.ts'
import type { EngineDeps } from './engine-deps.ts'
import { retryWhileTransient } from './retry-store.ts'
import type { RunCompletions } from './run-completions.ts'
import { startTurn, type TurnControl } from './turn.ts'
import { newTurnShares } from './turn-shares.ts'

/** From this many deaths on a run is recovered alone (quarantine), so that the next death identifies it. */
export const QUARANTINE_FROM = 2

export type Dispatcher = {
  /** Reserves a slot. Undefined: this process or the share of the organization is full, or it is shutting down. */
  reserve(organizationId: OrganizationId): Reservation | undefined
  /** Wake-up signal: the store may have a queued run, or one whose worker died. */
  wake(what: 'queue' | 'queue-and-dead'): void
  notify(runId: RunId): void
  notifyAll(): void
  running(): RunId[]
  /** Turns of the organization that run here. */
  runningOf(organizationId: OrganizationId): number
  isRunning(runId: RunId): boolean
  /** Graceful shutdown: claims no more runs, gives tools their grace period and returns every lease. */
  stop(toolGraceMs: number): Promise<void>
}

type Reservation = { use(claim: Claim): void; release(): void }

type DispatcherOptions = { workerId: WorkerId; maxRunning: number; completions: RunCompletions }

export function newDispatcher(deps: EngineDeps, { workerId, maxRunning, completions }: DispatcherOptions): Dispatcher {
  const turns = new Map<RunId, { control: TurnControl; finished: Promise<void> }>()
  const shares = newTurnShares({ maxRunning, most: (id) => deps.shares?.runningTurnsOf(id) ?? 0 })
  const stopping = new AbortController()
  /** Slots whose message or answer is still being committed. */
  const reservations = new Set<Promise<void>>()
  let reserved = 0
  let quarantined: RunId | undefined
  let mayHaveQueued = false
  /** Queued runs are blocked by other runs of their conversation: the next completion may free one. */
  let isBlocked = false
  let mayHaveDead = false
  let pumping: Promise<void> | undefined

  const isFull = () => turns.size + reserved >= maxRunning

  function launch(claim: Claim) {
    const { id, organizationId } = claim.run
    // A worker that slept past its lease may take over its own run: the turn it still has in memory is stale.
    const stale = turns.get(id)
    stale?.control.leave(0)
    if (claim.run.deaths >= QUARANTINE_FROM) quarantined = id
    const { control, result } = startTurn(claim, deps)
    const leaveShare = shares.enter(organizationId)
    const finished = result.then(async (ending) => {
      if (ending === 'left') await giveBack(claim)
      if (turns.get(id)?.control === control) turns.delete(id)
      leaveShare()
      if (quarantined === id) {
        quarantined = undefined
        mayHaveDead = true
      }
      completions.notify(id)
      if (isBlocked) mayHaveQueued = true
      if (mayHaveQueued || mayHaveDead) pump()
    })
    turns.set(id, {
      control,
      finished: stale ? Promise.all([finished, stale.finished]).then(() => {}) : finished,
    })
  }

  /** An unused lease must be returned, or the run would wait until this process dies. */
  async function giveBack({ run }: Claim) {
    try {
      const options = { clock: deps.clock, signal: stopping.signal }
      await retryWhileTransient(() => deps.store.runs.handBack(run.id, run.fence), options)
    } catch (fault) {
      deps.report(fault, `releasing ${run.id}`)
    }
    mayHaveDead = true
  }

  async function claimOne(): Promise<Claim | undefined> {
    // Cleared before the query: a wake-up signal during the query must not be lost.
    if (mayHaveDead) {
      mayHaveDead = false
      const quarantine = quarantined === undefined ? 'free' : 'busy'
      const at = deps.clock.now()
      const claim = await deps.store.runs.takeOver(workerId, { quarantine, quarantineFrom: QUARANTINE_FROM, at })
      mayHaveDead ||= claim !== undefined
      if (claim) return claim
    }
    if (mayHaveQueued) {
      mayHaveQueued = false
      const claim = await deps.store.runs.claimNext(workerId, shares.state())
      isBlocked = claim === 'blocked'
      mayHaveQueued ||= claim !== undefined && claim !== 'blocked'
      if (claim && claim !== 'blocked') return claim
    }
    return undefined
  }

  function pump() {
    pumping ??= claimWhilePossible().finally(() => {
      pumping = undefined
    })
  }

  async function claimWhilePossible() {
    while (!stopping.signal.aborted && !isFull() && (mayHaveQueued || mayHaveDead)) {
      reserved++
      try {
        const claim = await claimOne()
        if (claim) launch(claim)
      } catch (fault) {
        deps.report(fault, 'claiming runs')
        // The heartbeat wakes the dispatcher again; an unavailable store must not be queried in a tight loop.
        if (fault instanceof StorageError) return
        throw fault
      } finally {
        reserved--
      }
    }
  }

  return {
    reserve(organizationId) {
      if (stopping.signal.aborted || isFull() || shares.isFull(organizationId)) return undefined
      reserved++
      const { promise: released, resolve } = Promise.withResolvers<void>()
      reservations.add(released)
      const leaveShare = shares.enter(organizationId)
      const release = () => {
        if (reservations.delete(released)) {
          reserved--
          leaveShare()
        }
        resolve()
      }
      return {
        release,
        use(claim) {
          release()
          launch(claim)
        },
      }
    },
    wake(what) {
      mayHaveQueued = true
      if (what === 'queue-and-dead') mayHaveDead = true
      pump()
    },
    notify: (runId) => turns.get(runId)?.control.notify(),
    notifyAll() {
      for (const turn of turns.values()) turn.control.notify()
    },
    running: () => [...turns.keys()],
    runningOf: shares.countOf,
    isRunning: (runId) => turns.has(runId),
    async stop(toolGraceMs) {
      stopping.abort()
      await pumping
      // The run of a message that is being committed belongs to this process: it is handed back with the others.
      await Promise.all(reservations)
      for (const turn of turns.values()) turn.control.leave(toolGraceMs)
      await Promise.all([...turns.values()].map((turn) => turn.finished))
    },
  }
}
