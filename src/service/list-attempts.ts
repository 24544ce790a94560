import { summaryTargets } from '../core/compaction.ts'
import type { LoggedEvent, Usage } from '../core/event.ts'
import { costOf } from '../core/price.ts'
import type { RunSettings } from '../core/run.ts'
import { parseTarget } from '../core/target.ts'
import type { Desk } from './desk.ts'
import { showRun } from './show-run.ts'

/** One request to a model: what came of it, what was done about it, and what it cost. */
export type RunAttempt = {
  at: number
  target: string
  purpose: 'answer' | 'summary'
  usage?: Usage
  /** US dollars; absent where no price is known. */
  cost?: number
} & (
  | { outcome: 'answered' }
  | { outcome: 'failed'; kind: string; detail: string; remedy: string; waitMs?: number; nextTarget?: string }
)

/** What a run went through, in order. */
export async function listAttempts(id: string, desk: Desk): Promise<RunAttempt[]> {
  const { events } = await showRun(id, desk)
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  return events.flatMap((logged) => attemptOf(logged, first.settings, desk) ?? [])
}

function attemptOf({ at, event }: LoggedEvent, settings: RunSettings, desk: Desk): RunAttempt | undefined {
  switch (event.type) {
    case 'answer-received': {
      const target = settings.targets[event.target] ?? ''
      return { at, target, purpose: 'answer', outcome: 'answered', ...charged(target, event.usage, desk) }
    }
    case 'context-compacted': {
      const target = summaryTargets(settings)[event.target] ?? ''
      return { at, target, purpose: 'summary', outcome: 'answered', ...charged(target, event.usage, desk) }
    }
    case 'attempt-failed': {
      const { purpose = 'answer', failure, remedy, waitMs, nextTarget } = event
      const targets = purpose === 'summary' ? summaryTargets(settings) : settings.targets
      const target = targets[event.target] ?? ''
      const next = nextTarget === undefined ? undefined : targets[nextTarget]
      return {
        ...{ at, target, purpose, outcome: 'failed', kind: failure.kind, detail: failure.detail, remedy },
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(next === undefined ? {} : { nextTarget: next }),
        ...(event.usage ? charged(target, event.usage, desk) : {}),
      }
    }
    case 'input-accepted':
    case 'input-steered':
    case 'answer-cut':
    case 'tool-started':
    case 'tool-ended':
    case 'approval-answered':
    case 'cancel-requested':
    case 'worker-lost':
    case 'fault-met':
    case 'turn-ended':
      return undefined
  }
}

function charged(handle: string, usage: Usage, { directory }: Desk): { usage: Usage; cost?: number } {
  const target = parseTarget(handle)
  const price = target && directory?.priceOf(target)
  const cost = price && costOf(usage, price)
  return cost === undefined ? { usage } : { usage, cost }
}
