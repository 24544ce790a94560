import type { RunId } from '../id.ts'
import { checkAcrossRuns } from './all.ts'
import type { RunSummary } from './record.ts'

type RunLinks = {
  add(summary: RunSummary): void
  /** The runs that must still be checked together after every run is added. */
  unresolved(): RunSummary[]
}

/**
 * Collects runs that are linked to other runs. An answered run and the run that continues it are dropped as soon as
 * both are known and consistent, so a large store is checked in little memory.
 */
export function newRunLinks(): RunLinks {
  const open = new Map<RunId, RunSummary>()
  return {
    add(summary) {
      if (isDone(summary)) return
      open.set(summary.id, summary)
      if (summary.inherited) dropAgreeing(summary.inherited.from, summary.id)
      if (summary.answered) dropAgreeing(summary.id, summary.answered.continuedBy)
    },
    unresolved: () => [...open.values()],
  }

  function dropAgreeing(waitingId: RunId, continuingId: RunId): void {
    const waiting = open.get(waitingId)
    const continuing = open.get(continuingId)
    if (!waiting || !continuing) return
    const { inherited: _, ...answeredOnly } = waiting
    const { answered: __, ...inheritedOnly } = continuing
    if (checkAcrossRuns({ runs: [answeredOnly, inheritedOnly] }).length > 0) return
    const { answered: ___, ...waitingLeft } = waiting
    const { inherited: ____, ...continuingLeft } = continuing
    // If neither run can be dropped, the links stay: they explain the inputs that both runs have.
    if (!isDone(waitingLeft) && !isDone(continuingLeft)) return
    keep(waitingLeft)
    keep(continuingLeft)
  }

  function keep(summary: RunSummary): void {
    if (isDone(summary)) open.delete(summary.id)
    else open.set(summary.id, summary)
  }
}

const isDone = ({ phase, answered, inherited }: RunSummary): boolean =>
  phase === 'settled' && answered === undefined && inherited === undefined
