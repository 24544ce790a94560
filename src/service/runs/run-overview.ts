import type { Agent } from '../../core/agent.ts'
import { textOf } from '../../core/message.ts'
import { FREE, type Price } from '../../core/price.ts'
import type { Run } from '../../core/run.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import { findAgent } from '../agents/agents.ts'
import type { ServiceContext } from '../service-context.ts'
import { billOf } from './run-bill.ts'
import { readRunLabels } from './run-labels.ts'

/** What a person recognizes a run by. */
export type RunOverview = { run: Run; agentName: string; firstWords: string; cost: number | undefined }

export async function runOverviews(runs: readonly Run[], context: ServiceContext): Promise<RunOverview[]> {
  const labels = await readRunLabels(context)
  const price = (handle: string): Price | undefined =>
    parseTarget(handle)?.provider === SCRIPTED ? FREE : labels.price(handle)
  const names = new Map<Agent['id'], Promise<string>>()
  const nameOf = (id: Agent['id']): Promise<string> => {
    const known = names.get(id) ?? findAgent(id, context).then((agent) => agent?.name ?? '(deleted)')
    names.set(id, known)
    return known
  }
  return Promise.all(
    runs.map(async (run) => {
      const events = await context.deps.store.events.read(run.id, 0)
      const { cost, hasUnknown } = billOf({ events }, { price })
      const first = events[0]?.event
      const inputs = first?.type === 'input-accepted' ? first.inputs : []
      const task = first?.type === 'input-accepted' ? first.settings.task : undefined
      const words = inputs.map(({ content }) => textOf(content)).join(' ')
      const firstWords = words || (task ? `(${task})` : run.continues ? '(continues after an approval)' : '')
      return { run, agentName: await nameOf(run.agentId), firstWords, cost: hasUnknown ? undefined : cost }
    }),
  )
}
