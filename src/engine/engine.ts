import type { WorkerId } from '../core/id.ts'
import { StorageError } from '../ports/storage-error.ts'
import { cancelRun } from './cancel-run.ts'
import { type Dispatcher, newDispatcher } from './dispatcher.ts'
import type { EngineDeps } from './engine-deps.ts'
import { finishStream } from './finish-stream.ts'
import { LEASE_MS } from './lease.ts'
import { newOrphans } from './orphans.ts'
import { newRunCompletions, type RunCompletions } from './run-completions.ts'

export const HEARTBEAT_MS = 3_000
/** How often the store is checked for runs of dead workers: an expired lease must not wait for a heartbeat. */
const TAKEOVER_CHECK_MS = 1_000
/** How often idle conversations are evicted from the agent cache. */
const SWEEP_MS = 60_000
/** Grace period of running tools at graceful shutdown. */
export const TOOL_GRACE_MS = 8_000

export type Engine = {
  readonly workerId: WorkerId
  dispatcher: Dispatcher
  completions: RunCompletions
  stop(options?: { toolGraceMs?: number }): Promise<void>
}

/**
 * Starts running turns: registers this process as a worker, takes over runs of dead workers, and renews its lease. All
 * state is in the store; stopping loses nothing.
 */
export async function startEngine(deps: EngineDeps, { maxRunning }: { maxRunning: number }): Promise<Engine> {
  const workerId: WorkerId = `worker-${deps.randomness.uuid()}`
  const completions = newRunCompletions()
  const dispatcher = newDispatcher(deps, { workerId, maxRunning, completions })
  const orphans = newOrphans(deps.store, { workerId, running: dispatcher.running })
  await deps.store.workers.beat(workerId, LEASE_MS)
  let beating: Promise<void> | undefined
  let sweeping: Promise<void> | undefined = sweep().finally(() => {
    sweeping = undefined
  })

  const stopBeating = deps.clock.every(HEARTBEAT_MS, () => {
    // Independent of each other: a long sweep must not delay the heartbeat.
    beating = beat()
    sweeping ??= sweep().finally(() => {
      sweeping = undefined
    })
  })
  const stopLooking = deps.clock.every(TAKEOVER_CHECK_MS, () => {
    dispatcher.wake('queue-and-dead')
    // A wake-up signal may be lost: waiters for runs of other processes read the store again.
    completions.notifyAll()
  })
  const stopSweeping = deps.clock.every(SWEEP_MS, () => deps.historyCache.sweep())
  const stopListening = deps.store.onForeignWrite(() => {
    dispatcher.notifyAll()
    dispatcher.wake('queue')
    completions.notifyAll()
  })
  dispatcher.wake('queue-and-dead')

  return {
    workerId,
    dispatcher,
    completions,
    async stop({ toolGraceMs = TOOL_GRACE_MS } = {}) {
      stopBeating()
      stopLooking()
      stopSweeping()
      stopListening()
      await dispatcher.stop(toolGraceMs)
      // The caller closes the store next: no engine work may still use it.
      await Promise.all([beating, sweeping])
      await deps.streams.close()
      await leave()
    },
  }

  /** If the store is unavailable the lease expires by itself; the shutdown continues. */
  async function leave() {
    try {
      await deps.store.workers.leave(workerId)
    } catch (fault) {
      if (!(fault instanceof StorageError)) throw fault
      deps.report(fault, 'releasing the lease of this worker')
    }
  }

  async function beat() {
    try {
      await deps.store.workers.beat(workerId, LEASE_MS)
      dispatcher.wake('queue-and-dead')
    } catch (fault) {
      deps.report(fault, 'writing the heartbeat of this worker')
    }
  }

  /** Work without a worker: expired approvals, streams whose writer died, and orphaned runs. */
  async function sweep() {
    try {
      const { store, streams, clock, randomness } = deps
      for (const run of await store.runs.expired(clock.now(), 100)) {
        await cancelRun(
          { organizationId: run.organizationId, runId: run.id },
          { cause: 'expiry' },
          {
            store,
            clock,
            randomness,
            notify: (runId) => completions.notify(runId),
          },
        )
      }
      for (const runId of await streams.unended(100)) if (!dispatcher.isRunning(runId)) await finishStream(runId, deps)
      await orphans.handBack()
    } catch (fault) {
      deps.report(fault, 'taking over runs and ending streams')
    }
  }
}
