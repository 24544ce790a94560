import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import type { Price } from '../../core/price.ts'
import type { Run } from '../../core/run.ts'
import { type Bill, billOf, settingsIn } from '../../service/runs/run-bill.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { listRunPage, listRuns, type RunDetails, showRun } from '../../service/runs/runs.ts'
import { count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { type Term, termLines } from '../render/terms.ts'
import { safeText } from '../terminal.ts'
import { followTurnToEnd, pendingCalls } from './chat-loop.ts'
import { type ChatSession, type CommandOutcome, modelOf } from './chat-session.ts'
import type { SlashCommand } from './slash-command.ts'
import { billText, isScripted, sumOf } from './turn-summary.ts'

export const TURN_COMMANDS: Record<string, SlashCommand> = {
  stop: { description: 'Cancel the running turn.', run: async (_, chat) => stop(chat) },
  approve: {
    description: 'Approve what waits for approval.',
    notDuringTurn: true,
    run: (_, chat) => answer(chat, ({ callId, digest }) => ({ callId, verdict: 'approve', digest })),
  },
  deny: {
    usage: '[reason]',
    description: 'Deny what waits for approval.',
    notDuringTurn: true,
    run: (reason, chat) =>
      answer(chat, ({ callId }) => ({ callId, verdict: 'deny', ...defined({ reason: reason || undefined }) })),
  },
  status: { description: 'Show the agent, its model and what runs.', run: async (_, chat) => printStatus(chat) },
  cost: {
    description: 'Show tokens and cost of this conversation and of today.',
    run: async (_, chat) => printCost(chat),
  },
}

async function stop({ current, conversation, context, verbs, screen, status }: ChatSession): Promise<undefined> {
  const [running] = current
    ? [current]
    : (await listRuns({ conversationId: conversation.id, statuses: ['running'] }, 1, context)).map(({ id }) => id)
  if (!running) {
    screen.line('  No turn is running.')
    return undefined
  }
  status.cancelling()
  await verbs.cancel(running)
  return undefined
}

async function answer(
  chat: ChatSession,
  verdictOf: (call: { callId: string; digest: string }) => Verdict,
): Promise<CommandOutcome | undefined> {
  const { conversation, context, verbs, screen } = chat
  const [waiting] = await listRuns({ conversationId: conversation.id, waiting: true }, 1, context)
  if (!waiting) {
    screen.line('  Nothing waits for approval in this conversation.')
    return undefined
  }
  const calls = await pendingCalls(waiting, context)
  const outcome = await followTurnToEnd(() => verbs.answer(waiting.id, calls.map(verdictOf)), chat)
  return outcome === 'leave' ? 'leave' : 'go-on'
}

async function printStatus(chat: ChatSession): Promise<undefined> {
  const { agent, conversation, context, screen, server, settings, effort } = chat
  const filter = { conversationId: conversation.id }
  const [running, queued, waiting] = await Promise.all([
    listRuns({ ...filter, statuses: ['running'] }, 1, context),
    listRuns({ ...filter, statuses: ['created'] }, 100, context),
    listRuns({ ...filter, waiting: true }, 1, context),
  ])
  const model = conversation.details?.model ? `${modelOf(chat)} (this conversation)` : agent.model
  const turn = running[0]
    ? `running (${shortId(running[0].id)})`
    : waiting[0]
      ? 'waits for approval: /approve or /deny'
      : 'none'
  const rows: [string, string][] = [
    ['agent', `${agent.name} (${agent.id})`],
    ['model', [model, ...agent.fallback].join(' → ')],
    ['price', priceText((await readRunLabels(context)).price(modelOf(chat)), modelOf(chat))],
    ...(effort ? [['reasoning', effort === 'none' ? 'off' : effort] as [string, string]] : []),
    ['conversation', conversation.id],
    ['turn', `${turn}${queued.length > 0 ? `, ${count(queued.length, 'message')} queued` : ''}`],
    ['server', server ?? 'none: this process runs the turns'],
    ['home', settings.home],
  ]
  const terms = rows.map(([name, value]): Term => [screen.look.paint.dim(name), safeText(value)])
  for (const line of termLines(terms, screen.look)) screen.line(line)
  return undefined
}

function priceText(price: Price | undefined, handle: string): string {
  if (isScripted(handle)) return 'none'
  if (!price) return 'unknown'
  const { input, output, asOf } = price
  return `$${input} for a million tokens in, $${output} out (${asOf === 'stated' ? 'as the provider says' : asOf})`
}

const PAGE = 100
/** A bound on the runs that are read for a sum; the answer says when it was reached. */
const MAX_RUNS = 2_000

async function printCost(chat: ChatSession): Promise<undefined> {
  const { conversation, context, screen } = chat
  const midnight = new Date(context.deps.clock.now()).setHours(0, 0, 0, 0)
  const [own, today] = await Promise.all([
    collectBills({ conversationId: conversation.id }, () => true, chat),
    collectBills({}, ({ createdAt }) => createdAt >= midnight, chat),
  ])
  screen.line(`  this conversation  ${costLine(own)}`)
  screen.line(`  today, all agents  ${costLine(today)}`)
  return undefined
}

type Bills = { bills: Bill[]; isCut: boolean }

const costLine = ({ bills, isCut }: Bills): string =>
  `${billText(sumOf(bills))} · ${isCut ? 'the last ' : ''}${count(bills.length, 'run')}`

/** Such a run asks no model. */
function endsASession({ events }: RunDetails): boolean {
  const task = settingsIn(events)?.task
  return task === 'close' || task === 'expire'
}

/** The bills of the newest runs, as long as they belong to the sum. */
async function collectBills(
  filter: Parameters<typeof listRunPage>[0],
  belongs: (run: Run) => boolean,
  { context }: ChatSession,
): Promise<Bills> {
  const labels = await readRunLabels(context)
  const bills: Bill[] = []
  for (let last: string | undefined; bills.length < MAX_RUNS; ) {
    const page = await listRunPage(filter, { limit: PAGE, ...defined({ before: last }) }, context)
    const mine = page.filter(belongs)
    for (const { id } of mine) {
      const details = await showRun(id, context)
      if (!endsASession(details)) bills.push(billOf(details, labels))
    }
    last = page.at(-1)?.id
    if (mine.length < PAGE) return { bills, isCut: false }
  }
  return { bills, isCut: true }
}
