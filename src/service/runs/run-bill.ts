import type { TurnEvent, Usage } from '../../core/event.ts'
import { costOf, type Price } from '../../core/price.ts'
import type { RunSettings } from '../../core/run.ts'
import { targetsOf } from '../../core/turn.ts'
import { addUsage } from '../../core/usage.ts'
import type { RunLabels } from './run-labels.ts'
import type { RunDetails } from './runs.ts'

/** One request that used tokens, successful or not. */
type Charge = { handle: string; usage: Usage; isFailed: boolean }

export type Bill = {
  charges: Charge[]
  usage: Usage
  /** US dollars, for the models with a known price. */
  cost: number
  /** A model without a known price was used. */
  hasUnknown: boolean
}

/** Tokens and cost of a run, failed attempts and summaries included. */
export function billOf({ events }: Pick<RunDetails, 'events'>, { price }: Pick<RunLabels, 'price'>): Bill {
  const settings = settingsIn(events)
  const charges = events.flatMap(({ event }) => chargeOf(event, settings) ?? [])
  const costs = charges.map(({ handle, usage }) => chargedCost(usage, handle, price))
  return {
    charges,
    usage: charges.reduce<Usage>((sum, { usage }) => addUsage(sum, usage), { promptTokens: 0, completionTokens: 0 }),
    cost: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    hasUnknown: costs.includes(undefined),
  }
}

function chargedCost(usage: Usage, handle: string, price: (handle: string) => Price | undefined): number | undefined {
  const known = price(handle)
  return known && costOf(usage, known)
}

function chargeOf(event: TurnEvent, settings: RunSettings | undefined): Charge | undefined {
  if (event.type === 'answer-received')
    return { handle: handleOf(event.target, settings), usage: event.usage, isFailed: false }
  if (event.type === 'context-compacted' || event.type === 'summary-extended')
    return { handle: handleOf(event.target, settings, 'summary'), usage: event.usage, isFailed: false }
  if (event.type !== 'attempt-failed' || !event.usage) return undefined
  return { handle: handleOf(event.target, settings, event.purpose), usage: event.usage, isFailed: true }
}

export function settingsIn(events: RunDetails['events']): RunSettings | undefined {
  const first = events[0]?.event
  return first?.type === 'input-accepted' ? first.settings : undefined
}

/** Summaries have their own failover chain. */
export function handleOf(index: number, settings: RunSettings | undefined, purpose?: 'answer' | 'summary'): string {
  return (settings && targetsOf(settings, purpose)[index]) ?? `target ${index}`
}
