import type { RunId } from '../../core/id.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import { type Bill, billOf } from '../../service/runs/run-bill.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { showRun } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { dollars } from '../render/bill.ts'
import { safeText } from '../terminal.ts'

/** One line about a turn: tokens, cost, the models that answered and the time. Undefined if no model was asked. */
export async function turnSummary(runIds: readonly RunId[], context: ServiceContext): Promise<string | undefined> {
  const labels = await readRunLabels(context)
  const runs = await Promise.all(runIds.map((id) => showRun(id, context)))
  const bills = runs.map((run) => billOf(run, labels))
  const models = bills.flatMap(({ charges }) => charges.map(({ handle }) => handle))
  if (models.length === 0) return undefined
  const leftOut = runs.flatMap(({ events }) =>
    events.flatMap(({ event }) => (event.type === 'answer-received' ? (event.settingsLeftOut ?? []) : [])),
  )
  const first = runs[0]!.run
  const last = runs.at(-1)!.run
  const seconds = ((last.completedAt ?? first.createdAt) - (first.startedAt ?? first.createdAt)) / 1_000
  return [
    billText(sumOf(bills)),
    safeText([...new Set(models)].join(' → ')),
    `${seconds.toFixed(1)} s`,
    ...[...new Set(leftOut)].map((reason) => `not sent: ${safeText(reason)}`),
  ].join(' · ')
}

type BillSum = Pick<Bill, 'cost' | 'hasUnknown'> & { promptTokens: number; completionTokens: number }

export const sumOf = (bills: readonly Bill[]): BillSum => ({
  promptTokens: bills.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
  completionTokens: bills.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
  cost: bills.reduce((sum, { cost }) => sum + cost, 0),
  // The scripted model has no price because it costs nothing.
  hasUnknown: bills.some(({ hasUnknown, charges }) => hasUnknown && charges.some(({ handle }) => !isScripted(handle))),
})

/** `812 + 40 tokens · $0.0021`. A sum without the price of one of its models is a lower bound. */
export function billText({ promptTokens, completionTokens, cost, hasUnknown }: BillSum): string {
  const tokens = `${promptTokens} + ${completionTokens} tokens`
  if (cost === 0) return hasUnknown ? `${tokens} · price unknown` : tokens
  return `${tokens} · ${hasUnknown ? 'at least ' : ''}${dollars(cost)}`
}

export const isScripted = (handle: string): boolean => parseTarget(handle)?.provider === SCRIPTED
