import { spentWithCredential } from '../attempt-state.ts'
import type { EventType } from '../event.ts'
import { BOUNDED_BY_PROGRESS, type Remedy, usesAllowed } from '../recovery.ts'
import { isSettled, phaseOf, type RunPhase, STATUS_OF_STOP, TRANSITIONS } from '../run.ts'
import { POISON_DEATHS, targetsOf } from '../turn.ts'
import type { Invariant, StoreRecord } from './record.ts'
import { faultsByEvent, type RunTrace } from './trace.ts'

export const oneActiveRun: Invariant<StoreRecord> = {
  id: 'I10',
  name: 'one active run',
  sentence: 'A conversation has at most one run that is running or waiting for approval.',
  promise: 'nothing happens twice',
  check({ runs }) {
    const active = new Map<string, string>()
    return runs.flatMap(({ id, conversationId, phase }) => {
      if (phase !== 'running' && phase !== 'waiting') return []
      const other = active.get(conversationId)
      active.set(conversationId, `${id} (${phase})`)
      return other === undefined ? [] : [`${other} and ${id} (${phase}) are both active in ${conversationId}`]
    })
  },
}

export const fencing: Invariant<RunTrace> = {
  id: 'I11',
  name: 'fencing',
  sentence: 'The fences of worker events never decrease and never exceed the fence of the run.',
  promise: 'nothing happens twice',
  check(trace) {
    let lowest = 0
    return faultsByEvent(trace, (event) => {
      if (event.type !== 'tool-started' && event.type !== 'worker-lost') return undefined
      const { fence } = event
      if (fence > trace.run.fence) return `fence ${fence} is above the run's, ${trace.run.fence}`
      if (fence < lowest) return `fence ${fence} is below ${lowest}: a stale worker wrote`
      // The store rejects writes of a dead worker: only higher fences may follow.
      lowest = event.type === 'worker-lost' ? fence + 1 : fence
      return undefined
    })
  },
}

export const legalTransitions: Invariant<RunTrace> = {
  id: 'I12',
  name: 'legal transitions',
  sentence:
    'A run changes between legal states only, no event follows its end, and a settled run has an end time and stop reason.',
  promise: 'nothing is hidden',
  check(trace) {
    const { run } = trace
    const hasStopped = isSettled(run) || run.waiting
    const hasError = run.error !== undefined
    return [
      ...pathFaults(trace),
      ...afterEnd(trace),
      ...(hasStopped && run.stopReason === undefined ? ['it stopped without a stop reason'] : []),
      ...(hasStopped && run.completedAt === undefined ? ['it stopped without completed_at'] : []),
      ...(run.status === 'failed' && !hasError ? ['it failed without an error'] : []),
      ...(run.status !== 'failed' && hasError ? [`it has an error but is ${run.status}`] : []),
      ...(run.fence > 0 || run.status === 'created' || run.status === 'cancelled'
        ? []
        : [`it is ${run.status} but no worker ever claimed it`]),
    ]
  },
}

export const noZombie: Invariant<RunTrace> = {
  id: 'I13',
  name: 'no zombie',
  sentence: 'A running run is held by a live worker.',
  promise: 'nothing is stuck',
  check({ run, liveWorkers }) {
    if (!liveWorkers || run.status !== 'running') return []
    if (run.leaseOwner !== undefined && liveWorkers.has(run.leaseOwner)) return []
    return [`it is running but ${run.leaseOwner ? `its worker ${run.leaseOwner} is dead` : 'no worker holds it'}`]
  },
}

export const recoveryProgress: Invariant<RunTrace> = {
  id: 'I14',
  name: 'recovery progress',
  sentence: `A run that killed ${POISON_DEATHS} workers at one step ends with worker_lost and does nothing else; no other run ends with it.`,
  promise: 'nothing is stuck',
  check(trace) {
    const { final } = trace
    // A poisoned run stays poisoned: denying its open calls must not count as a successful step.
    let isPoisoned = false
    const continued = faultsByEvent(trace, (event, before) => {
      isPoisoned ||= before.deaths >= POISON_DEATHS
      return isPoisoned && PROGRESS_EVENTS.includes(event.type)
        ? 'it continued after too many worker deaths'
        : undefined
    })
    isPoisoned ||= final.deaths >= POISON_DEATHS
    const error = final.ended?.error?.errorType
    // A cancel and an internal fault take precedence over the deaths; any other end would hide them.
    const hidesDeaths =
      isPoisoned && final.ended && !final.cancel && final.fault === undefined && error !== 'worker_lost'
    return [
      ...continued,
      ...(hidesDeaths ? [`its workers died too often, but it ended with ${final.ended?.stopReason}`] : []),
      ...(error === 'worker_lost' && !isPoisoned
        ? [`it ended with worker_lost after only ${final.deaths} worker deaths`]
        : []),
    ]
  },
}

/** Events that mean the turn went on. */
const PROGRESS_EVENTS: readonly EventType[] = ['tool-started', 'answer-received', 'attempt-failed']

export const turnIsolation: Invariant<RunTrace> = {
  id: 'I16',
  name: 'turn isolation',
  sentence:
    'A run starts at its first target, changes it only after a recorded failure, and uses no remedy more often than its ladder lists it, except to lower a window further.',
  promise: 'nothing is hidden',
  check: (trace) =>
    faultsByEvent(trace, (event, before) => {
      if (event.type !== 'attempt-failed' && event.type !== 'answer-received' && event.type !== 'answer-cut')
        return undefined
      const state = before.attempts[event.type === 'attempt-failed' ? (event.purpose ?? 'answer') : 'answer']
      if (event.target !== state.target)
        return `it used target ${event.target} while the turn was at target ${state.target}`
      if (event.type !== 'attempt-failed' || event.remedy === 'give-up') return undefined
      const next = event.nextTarget ?? event.target + 1
      const chain = targetsOf(before.settings, event.purpose)
      if (event.remedy === 'next-target' && next >= chain.length) return 'there is no next target'
      const window = before.windows[chain[event.target] ?? ''] ?? Number.POSITIVE_INFINITY
      if (BOUNDED_BY_PROGRESS.has(event.remedy) && event.window !== undefined && event.window < window) return undefined
      const used = count(spentWithCredential(state, event.credentialId), event.remedy)
      if (used >= usesAllowed(event.failure.kind, event.remedy))
        return `${event.remedy} was used up for ${event.failure.kind}`
      return undefined
    }),
}

export const stepBudget: Invariant<RunTrace> = {
  id: 'I17',
  name: 'budget',
  sentence: 'A run has no more answers than its step limit.',
  promise: 'nothing is stuck',
  check: ({ final }) =>
    final.steps > final.settings.maxSteps ? [`${final.steps} answers, the limit is ${final.settings.maxSteps}`] : [],
}

export const effectOnce: Invariant<RunTrace> = {
  id: 'I28',
  name: 'effect once or marked',
  sentence: 'A call with effects `once` starts once, and no worker starts the same call twice.',
  promise: 'nothing happens twice',
  check: (trace) =>
    faultsByEvent(trace, (event, { step }) => {
      if (event.type !== 'tool-started') return undefined
      const call = step?.calls.find((one) => one.callId === event.callId)
      if (call?.startedBy === undefined) return undefined
      if (call.effects === 'once') return `${event.callId} may run once and was started before`
      return call.startedBy === event.fence ? `${event.callId} was started twice by fence ${event.fence}` : undefined
    }),
}

const count = (remedies: readonly Remedy[], wanted: Remedy) => remedies.filter((remedy) => remedy === wanted).length

/** Checks the path of phases: those of the log, then the phase of the row. */
function pathFaults({ run, moments }: RunTrace): string[] {
  const path: RunPhase[] = run.fence > 0 ? ['created', 'running'] : ['created']
  for (const { event } of moments) {
    if (event.type === 'approval-answered') path.push('completed')
    if (event.type !== 'turn-ended') continue
    path.push(event.stopReason === 'requires_approval' ? 'waiting' : STATUS_OF_STOP[event.stopReason])
  }
  if (path.at(-1) !== phaseOf(run)) path.push(phaseOf(run))
  const jump = path.findIndex((phase, index) => index > 0 && !TRANSITIONS[path[index - 1]!].includes(phase))
  return jump > 0 ? [`its status changed from ${path[jump - 1]} to ${path[jump]}`] : []
}

/** A waiting run ends with one answer, or with one cancel that settles its calls. No other event may follow. */
function afterEnd(trace: RunTrace): string[] {
  return faultsByEvent(trace, (event, { phase, cancel }) => {
    if (phase === 'ended') return 'the run had ended'
    if (phase === 'going')
      return event.type === 'approval-answered' ? 'the run was not waiting for approval' : undefined
    const isExit = event.type === 'approval-answered' || event.type === 'cancel-requested'
    const isClosing = event.type === 'tool-ended' || event.type === 'turn-ended'
    if (cancel ? isClosing : isExit) return undefined
    return 'the run was waiting for approval'
  })
}
