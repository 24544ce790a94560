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
  /** The run that each moved steer came from; that run was opened first. */
  const sources = new Map<RunId, RunId>()
  /** The last run of a conversation, if it overflowed; and those that did so in a row, with the run after them. */
  const overflowed = new Map<string, RunSummary>()
  const repeated = new Map<RunId, RunSummary>()
  return {
    add(summary) {
      watchOverflow(summary)
      const from = sources.get(summary.id)
      if (isDone(summary) && !from) return
      open.set(summary.id, summary)
      for (const { to } of summary.moved ?? []) sources.set(to, summary.id)
      if (from) dropMoved(from, summary.id)
      if (summary.inherited) dropAgreeing(summary.inherited.from, summary.id)
      if (summary.answered) dropAgreeing(summary.id, summary.answered.continuedBy)
    },
    unresolved: () => [...repeated.values(), ...[...open.values()].filter(({ id }) => !repeated.has(id))],
  }

  function watchOverflow(summary: RunSummary): void {
    const { id, conversationId, phase } = summary
    if (phase !== 'settled') return
    const last = overflowed.get(conversationId)
    if (last && (summary.overflowed || repeated.has(last.id))) repeated.set(last.id, last).set(id, summary)
    if (summary.overflowed) overflowed.set(conversationId, summary)
    else overflowed.delete(conversationId)
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

  function dropMoved(from: RunId, to: RunId): void {
    const source = open.get(from)
    const target = open.get(to)
    sources.delete(to)
    if (!source || !target) return
    const moved = (source.moved ?? []).filter((one) => one.to === to)
    const { answered: _, inherited: __, ...pair } = source
    const { answered: ___, inherited: ____, moved: _____, ...alone } = target
    if (checkAcrossRuns({ runs: [{ ...pair, moved }, alone] }).length > 0) return
    const { moved: all = [], ...left } = source
    const others = all.filter((one) => one.to !== to)
    keep(others.length > 0 ? { ...left, moved: others } : left)
    keep(target)
  }

  function keep(summary: RunSummary): void {
    if (isDone(summary)) open.delete(summary.id)
    else open.set(summary.id, summary)
  }
}

const isDone = ({ phase, answered, inherited, moved }: RunSummary): boolean =>
  phase === 'settled' && answered === undefined && inherited === undefined && moved === undefined
