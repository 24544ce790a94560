import { Problem } from '../../core/problem.ts'
import { isSettled } from '../../core/run.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { billOf } from '../../service/runs/run-bill.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { runOverviews } from '../../service/runs/run-overview.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { requireRunId } from '../pick-run.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { overviewJson, printRuns } from '../render/run-table.ts'
import { renderStory } from '../render/story.ts'
import { messageJson, runJson, stepJson } from '../run-json.ts'
import { wholeNumber } from '../whole-number.ts'

type ListOptions = { agent?: string; limit: string; json?: boolean }

export const listAll = ({ agent, limit, json }: ListOptions, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const filter = agent === undefined ? {} : { agentId: (await requireAgent(agent, context)).id }
    const runs = await listRuns(filter, wholeNumber('--limit', limit, { from: 1, to: 1000 }), context)
    if (json) return printJson(out, (await runOverviews(runs, context)).map(overviewJson))
    if (runs.length === 0) out.line('No runs yet.')
    else printRuns(await runOverviews(runs, context), { now: context.deps.clock.now(), out })
  })

export const show = (id: string, { json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const story = await showRun(await requireRunId(id, context), context)
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

export const cancel = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const id = await requireRunId(which, context)
    const before = (await showRun(id, context)).run
    if (isSettled(before)) throw new Problem('conflict', `${id} has already ended: ${before.status}.`)
    const run = await verbs.cancel(id)
    const isDone = isSettled(run)
    const sentence = isDone ? `${id} is ${run.status}.` : `Cancel requested: ${id} ends within seconds.`
    printResult(cli, flags, { sentence, value: runJson(run) })
  })
