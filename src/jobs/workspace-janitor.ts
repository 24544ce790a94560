import type { RunId } from '../core/id.ts'
import { endFinishedProcesses, endProcessesOfRun } from './end-cancelled.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { removeOrphanedWorkspaces } from './remove-orphaned-workspaces.ts'
import { newSingleFlight } from './single-flight.ts'
import { newWakeUps } from './wake-conversations.ts'

const TICK_MS = 1_000
/** Rarely: a sweep cleans up after crashes, and it resets the sleep timer of the workspaces it inspects. */
const TICKS_BETWEEN_SWEEPS = 600
/** So that a short command ends before the first sweep. */
const TICKS_BEFORE_FIRST_SWEEP = 2

/**
 * Maintains workspaces outside of turns: wakes conversations when an awaited process ends, ends the processes of
 * cancelled runs, and removes workspaces whose conversation is deleted. After a crash the next process continues.
 */
export function startWorkspaceJanitor({ context, unknownWorkspaces }: Omit<JobDeps, 'webhookBody'>): RunningJob {
  const { deps, workspaces, commits } = context
  const wakeUps = newWakeUps({ context, workspaces })
  const flight = newSingleFlight(deps.report)
  const stopping = new AbortController()
  const cancelled = new Set<RunId>()
  let ticks = -TICKS_BEFORE_FIRST_SWEEP

  const stopListening = commits.listen({
    event(event, runId) {
      if (event.type !== 'turn-ended' || event.stopReason !== 'cancelled') return
      cancelled.add(runId)
      flight.run(END_PROCESSES, endCancelled)
    },
  })
  const stopTicking = deps.clock.every(TICK_MS, () => {
    flight.run('waking conversations', wakeUps.followNew)
    if (cancelled.size > 0) flight.run(END_PROCESSES, endCancelled)
    if (ticks % TICKS_BETWEEN_SWEEPS === 0) flight.run('sweeping workspaces', sweep)
    ticks += 1
  })

  async function endCancelled(): Promise<void> {
    await eachOf([...cancelled], async (runId) => {
      await endProcessesOfRun(runId, { deps, workspaces })
      cancelled.delete(runId)
    })
  }

  async function sweep(): Promise<void> {
    const existing = await removeOrphanedWorkspaces({ store: deps.store, workspaces, unknownWorkspaces })
    await eachOf(existing, (id) => endFinishedProcesses(id, { deps, workspaces }))
  }

  /** One failure does not stop the others; the first is thrown at the end. */
  async function eachOf<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
    const faults: unknown[] = []
    for (const one of list) {
      if (stopping.signal.aborted) return
      await work(one).catch((fault) => faults.push(fault))
    }
    if (faults.length > 0) throw faults[0]
  }

  return {
    async stop() {
      stopping.abort()
      stopTicking()
      stopListening()
      await Promise.all([wakeUps.stop(), flight.stop()])
    },
  }
}

const END_PROCESSES = 'ending the processes of a cancelled run'
