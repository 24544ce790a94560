import type { RunId } from '../id.ts'
import { checkAcrossRuns } from './all.ts'
import type { RunSummary } from './record.ts'

type RunLinks = {
  add(summary: RunSummary): void
  /** What must still be looked at together, when every run has been added. */
  unresolved(): RunSummary[]
}

/**
 * Runs that other runs may contradict. A run that was answered and the one that carries the answer out are let go as
 * soon as both are known and agree, so that a store of many years is checked in little memory.
 */
export function newRunLinks(): RunLinks {
  const open = new Map<RunId, RunSummary>()
  return {
    add(summary) {
      if (isDone(summary)) return
      open.set(summary.id, summary)
      if (summary.inherited) letGo(summary.inherited.from, summary.id)
      if (summary.answered) letGo(summary.id, summary.answered.continuedBy)
    },
    unresolved: () => [...open.values()],
  }

  function letGo(askerId: RunId, heirId: RunId): void {
    const asker = open.get(askerId)
    const heir = open.get(heirId)
    if (!asker || !heir) return
    const { inherited: _, ...askedOnly } = asker
    const { answered: __, ...heirOnly } = heir
    if (checkAcrossRuns({ runs: [askedOnly, heirOnly] }).length > 0) return
    const { answered: ___, ...askerLeft } = asker
    const { inherited: ____, ...heirLeft } = heir
    // Together they excuse each other: what they have in common is no double as long as neither stands alone.
    if (!isDone(askerLeft) && !isDone(heirLeft)) return
    keep(askerLeft)
    keep(heirLeft)
  }

  function keep(summary: RunSummary): void {
    if (isDone(summary)) open.delete(summary.id)
    else open.set(summary.id, summary)
  }
}

const isDone = ({ phase, answered, inherited }: RunSummary): boolean =>
  phase === 'settled' && answered === undefined && inherited === undefined
