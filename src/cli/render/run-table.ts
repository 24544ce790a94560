import { phaseOf, type Run } from '../../core/run.ts'
import type { RunOverview } from '../../service/runs/run-overview.ts'
import { runJson } from '../run-json.ts'
import type { Screen } from '../terminal.ts'
import { costCell } from './bill.ts'
import { ageText, count, PHASE_COLOR } from './run.ts'
import { shortId } from './short-id.ts'
import { type Column, printTable } from './table.ts'

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
