import { Problem } from '../../core/problem.ts'
import { isSettled } from '../../core/run.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { billOf } from '../render/bill.ts'
import { runLine } from '../render/run.ts'
import { renderStory } from '../render/story.ts'
import { messageJson, runJson, stepJson } from '../run-json.ts'

type ListOptions = { agent?: string; limit: string; json?: boolean }

export const listAll = ({ agent, limit, json }: ListOptions, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const filter = agent === undefined ? {} : { agentId: (await requireAgent(agent, context)).id }
    const runs = await listRuns(filter, parseLimit(limit), context)
    if (json) return printJson(out, runs.map(runJson))
    if (runs.length === 0) out.line('No runs yet.')
    const now = context.deps.clock.now()
    for (const run of runs) out.line(runLine(run, now, out.look))
  })

export const show = (id: string, { json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const story = await showRun(id, context)
    const words = await readRunLabels(context)
    if (!json) return renderStory(story, words, out.look).forEach((line) => void out.line(line))
    const { run, events, steps, messages } = story
    const { cost, hasUnknown } = billOf(story, words)
    const bill = { cost_usd: cost, cost_is_whole: !hasUnknown }
    printJson(out, {
      ...runJson(run),
      ...bill,
      steps: steps.map(stepJson),
      messages: messages.map(messageJson),
      events,
    })
  })

export const cancel = (id: string, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const before = (await showRun(id, context)).run
    if (isSettled(before)) throw new Problem('conflict', `${id} has already ended: ${before.status}.`)
    const run = await verbs.cancel(id)
    const isDone = isSettled(run)
    cli.out.line(isDone ? `${id} is ${run.status}.` : `Cancel requested: ${id} ends within seconds.`)
  })

function parseLimit(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= 1_000) return value
  throw new Problem('invalid', `--limit must be a whole number from 1 to 1000, not "${text}".`)
}
