import type { RunId } from '../core/id.ts'
import type { Workspaces } from '../ports/workspaces.ts'
import type { Desk } from './desk.ts'
import { endOfCancelled, endWhatIsOver } from './workspaces/end-processes.ts'
import { removeOwnerless, type UnheardOf } from './workspaces/remove-ownerless.ts'
import { newWakeUps } from './workspaces/wake-conversations.ts'

const TICK_MS = 1_000
/** Rarely: it is for what a crash left behind, and whoever is looked at does not fall asleep. */
const TICKS_BETWEEN_SWEEPS = 600
/** Not at once: a command that is over in a moment is spared it. */
const TICKS_BEFORE_FIRST_SWEEP = 2

type Parts = { desk: Desk; workspaces: Workspaces; unheardOf: UnheardOf }

/**
 * Looks after workspaces from outside of turns: wakes conversations when an awaited process ends, ends what a cancelled
 * run started, and removes what belongs to nobody any more. Whatever it was doing when the process died it finds again.
 */
export function keepWorkspaces({ desk, workspaces, unheardOf }: Parts): { stop(): Promise<void> } {
  const { world, hearing } = desk
  const wakeUps = newWakeUps({ desk, workspaces })
  const cancelled = new Set<RunId>()
  const working = new Map<string, Promise<void>>()
  const told = new Set<string>()
  let isStopping = false
  let ticks = -TICKS_BEFORE_FIRST_SWEEP

  const stopListening = hearing.listen({
    event(event, runId) {
      if (event.type !== 'turn-ended' || event.stopReason !== 'cancelled') return
      cancelled.add(runId)
      once('ending what a cancelled run started', endCancelled)
    },
  })
  const stopTicking = world.clock.every(TICK_MS, () => {
    once('waking conversations', wakeUps.look)
    if (cancelled.size > 0) once('ending what a cancelled run started', endCancelled)
    if (ticks % TICKS_BETWEEN_SWEEPS === 0) once('looking after workspaces', sweep)
    ticks += 1
  })

  async function endCancelled(): Promise<void> {
    await eachOf([...cancelled], async (runId) => {
      await endOfCancelled(runId, { world, workspaces })
      cancelled.delete(runId)
    })
  }

  async function sweep(): Promise<void> {
    const staying = await removeOwnerless({ store: world.store, workspaces, unheardOf })
    await eachOf(staying, (id) => endWhatIsOver(id, { world, workspaces }))
  }

  /** One that fails does not keep the others waiting. */
  async function eachOf<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
    const faults: unknown[] = []
    for (const one of list) {
      if (isStopping) return
      await work(one).catch((fault) => faults.push(fault))
    }
    if (faults.length > 0) throw faults[0]
  }

  function once(name: string, work: () => Promise<void>): void {
    if (working.has(name) || isStopping) return
    const done = work()
      .then(() => void told.delete(name))
      .catch((fault) => {
        // Said once: it is tried again at the next tick.
        if (!told.has(name) && !isStopping) world.report(fault, name)
        told.add(name)
      })
      .finally(() => working.delete(name))
    working.set(name, done)
  }

  return {
    async stop() {
      isStopping = true
      stopTicking()
      stopListening()
      await wakeUps.stop()
      // The store is closed next: nothing of ours may still be using it.
      await Promise.all(working.values())
    },
  }
}
