import type { Agent } from '../../core/agent.ts'
import { textOf } from '../../core/message.ts'
import { FREE, type Price } from '../../core/price.ts'
import { phaseOf, type Run } from '../../core/run.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import { findAgent } from '../../service/agents/agents.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { showRun } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { runJson } from '../run-json.ts'
import type { Screen } from '../terminal.ts'
import { billOf, costCell } from './bill.ts'
import { ageText, count, PHASE_COLOR } from './run.ts'
import { shortId } from './short-id.ts'
import { type Column, printTable } from './table.ts'

/** What a person recognizes a run by. */
type RunOverview = { run: Run; agentName: string; firstWords: string; cost: number | undefined }

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
      const { events } = await showRun(run.id, context)
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

type PrintOptions = {
  now: number
  out: Screen
  /** The agent is known from where they are listed. */
  isOneAgent?: boolean
}

export function printRuns(runs: readonly RunOverview[], { now, out, isOneAgent }: PrintOptions): void {
  const agent: Column<RunOverview> = {
    title: 'AGENT',
    text: ({ agentName }) => agentName,
    paint: 'bold',
    shrinksTo: 8,
  }
  printTable(
    runs,
    [
      { title: 'RUN', text: ({ run }) => run.id, short: ({ run }) => shortId(run.id) },
      ...(isOneAgent ? [] : [agent]),
      {
        title: 'STATUS',
        text: ({ run }) => statusText(run),
        paint: ({ run }) => PHASE_COLOR[phaseOf(run)],
        shrinksTo: 9,
      },
      { title: 'AGE', text: ({ run }) => `${ageText(now - run.createdAt)} ago` },
      { title: 'COST', text: ({ cost }) => costCell(cost), align: 'right' },
      { title: 'FIRST WORDS', text: ({ firstWords }) => firstWords, shrinksTo: 12, longest: 80 },
    ],
    out,
  )
}

/** The stop reason says more than `completed` unless the turn ended as usual. */
function statusText(run: Run): string {
  const reason = run.stopReason && run.stopReason !== 'end_turn' && !run.waiting ? ` (${run.stopReason})` : ''
  return `${phaseOf(run)}${reason}${run.deaths > 0 ? `, ${count(run.deaths, 'death')}` : ''}`
}

export const overviewJson = ({ run, agentName, firstWords, cost }: RunOverview) => ({
  ...runJson(run),
  agent_name: agentName,
  first_words: firstWords,
  cost_usd: cost ?? null,
})
