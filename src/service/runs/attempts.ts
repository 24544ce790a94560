import type { Cooldown } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { LoggedEvent, Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import { costOf } from '../../core/price.ts'
import type { RunSettings } from '../../core/run.ts'
import { parseTarget } from '../../core/target.ts'
import { targetsOf } from '../../core/turn.ts'
import type { ServiceContext } from '../service-context.ts'
import { readRunLabels } from './run-labels.ts'
import { showRun } from './runs.ts'

/** One request to a model: its outcome, its remedy and its cost. */
export type RunAttempt = {
  at: number
  target: string
  purpose: 'answer' | 'summary'
  usage?: Usage
  /** US dollars; absent where no price is known. */
  cost?: number
  /** The label of the credential. */
  credential?: string
  /** Settings that were not sent to the model, each with the reason. */
  settingsLeftOut?: string[]
} & ({ outcome: 'answered' } | (FailedAttempt & { outcome: 'failed' }))

export type FailedAttempt = {
  kind: string
  detail: string
  remedy: string
  waitMs?: number
  nextTarget?: string
  /** From the error response of the provider. */
  providerResponse: Pick<Failure, 'status' | 'code' | 'requestId'>
  advice?: string
  /** The provider may have charged for it without reporting usage. */
  mayHaveCost: boolean
  cooldown?: Pick<Cooldown, 'until' | 'reason' | 'scope'>
}

/** All attempts of a run, in order. */
export async function listAttempts(id: string, context: ServiceContext): Promise<RunAttempt[]> {
  const { events } = await showRun(id, context)
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const words = await readRunLabels(context)
  return events.flatMap((logged) => {
    const attempt = attemptOf(logged, first.settings, context)
    const id = 'credentialId' in logged.event ? logged.event.credentialId : undefined
    return attempt ? [{ ...attempt, ...defined({ credential: id ? words.credential(id) : undefined }) }] : []
  })
}

function attemptOf({ at, event }: LoggedEvent, settings: RunSettings, context: ServiceContext): RunAttempt | undefined {
  switch (event.type) {
    case 'answer-received': {
      const target = settings.targets[event.target] ?? ''
      const { usage, settingsLeftOut } = event
      const cost = usageAndCost(target, usage, context)
      return { at, target, purpose: 'answer', outcome: 'answered', ...cost, ...defined({ settingsLeftOut }) }
    }
    case 'context-compacted':
    case 'summary-extended': {
      const target = targetsOf(settings, 'summary')[event.target] ?? ''
      return { at, target, purpose: 'summary', outcome: 'answered', ...usageAndCost(target, event.usage, context) }
    }
    case 'attempt-failed': {
      const { purpose = 'answer', failure, remedy, waitMs, nextTarget, cooldown, settingsLeftOut } = event
      const { status, code, requestId, advice } = failure
      const targets = targetsOf(settings, purpose)
      const target = targets[event.target] ?? ''
      const next = nextTarget === undefined ? undefined : targets[nextTarget]
      return {
        at,
        target,
        purpose,
        outcome: 'failed',
        kind: failure.kind,
        detail: failure.detail,
        remedy,
        providerResponse: defined({ status, code, requestId }),
        mayHaveCost: failure.mayHaveBeenAccepted === true && !event.usage,
        ...defined({ advice: advice || undefined, cooldown, waitMs, nextTarget: next, settingsLeftOut }),
        ...(event.usage ? usageAndCost(target, event.usage, context) : undefined),
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

function usageAndCost(handle: string, usage: Usage, { directory }: ServiceContext): { usage: Usage; cost?: number } {
  const target = parseTarget(handle)
  const price = target && directory.priceOf(target)
  const cost = price && costOf(usage, price)
  return cost === undefined ? { usage } : { usage, cost }
}
