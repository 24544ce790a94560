import type { Agent, Conversation } from '../../core/agent.ts'
import type { RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { listRuns } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { followRun } from '../follow-run.ts'
import type { HomeSession } from '../home-session.ts'
import type { Screen } from '../terminal.ts'
import { askApproval, callText } from './ask-approval.ts'
import type { Keyboard } from './keyboard.ts'

/** `go-on`: read the next line. `nothing-done`: likewise, nothing was printed. `leave`: the user left during a turn. */
export type ChatOutcome = 'go-on' | 'nothing-done' | 'leave'

export type ChatSession = HomeSession & {
  agent: Agent
  conversation: Conversation
  keyboard: Keyboard
  screen: Screen
  /** Runs that this chat printed, or that ended before it began. */
  shownRuns: Set<RunId>
}

/** Sends one message and prints the whole turn, approvals included. */
export async function sendAndFollow(text: string, chat: ChatSession, leaving: AbortController): Promise<ChatOutcome> {
  const { verbs, agent, conversation } = chat
  return followToEnd(await verbs.send({ agent, conversationId: conversation.id, text }), chat, leaving)
}

/** Continues what an earlier process left: an unfinished turn, the runs queued behind it, a pending approval. */
export async function resumeUnfinished(chat: ChatSession, leaving: AbortController): Promise<ChatOutcome> {
  const { context, conversation, screen } = chat
  const { bold } = screen.look.paint
  const filter = { conversationId: conversation.id }
  const unfinished = await listRuns({ ...filter, statuses: ['running', 'created'] }, 100, context)
  for (const run of unfinished.reverse()) {
    const what = run.continues ? 'Continuing an answered approval' : 'Continuing an unfinished turn'
    screen.line(bold(`${what} (${run.id}):`))
    if ((await followToEnd(run.id, chat, leaving)) === 'leave') return 'leave'
  }
  const [waiting] = await listRuns({ ...filter, waiting: true }, 1, context)
  if (!waiting) return unfinished.length > 0 ? 'go-on' : 'nothing-done'
  const { keyboard } = chat
  screen.line(bold(`An approval is still pending (${waiting.id}):`))
  await printPendingCalls(waiting, chat)
  return keyboard.isAttended ? askForApprovals(waiting, chat, leaving) : printOpenApproval(waiting, chat)
}

/** At most this many runs that began since the last input are printed. */
const MAX_NEW_RUNS = 20

export async function markRunsShown({ context, conversation, shownRuns }: ChatSession): Promise<void> {
  for (const { id } of await listRuns({ conversationId: conversation.id }, MAX_NEW_RUNS, context)) shownRuns.add(id)
}

/** Prints runs that began without this chat: an ended process woke the agent, or another client sent a message. */
export async function showNewRuns(chat: ChatSession, leaving: AbortController): Promise<ChatOutcome> {
  const { context, conversation, screen, shownRuns } = chat
  const runs = await listRuns({ conversationId: conversation.id }, MAX_NEW_RUNS, context)
  for (const run of runs.filter(({ id }) => !shownRuns.has(id)).reverse()) {
    screen.line(screen.look.paint.bold(`Since your last message (${run.id}):`))
    if ((await followToEnd(run.id, chat, leaving)) === 'leave') return 'leave'
    screen.line()
  }
  return 'go-on'
}

async function followToEnd(runId: RunId, chat: ChatSession, leaving: AbortController): Promise<ChatOutcome> {
  const ended = await follow(runId, chat, leaving)
  if (leaving.signal.aborted) return 'leave'
  return askForApprovals(ended, chat, leaving)
}

async function askForApprovals(run: Run, chat: ChatSession, leaving: AbortController): Promise<ChatOutcome> {
  const { context, verbs, keyboard, screen } = chat
  let current = run
  while (current.waiting) {
    if (!keyboard.isAttended) return printOpenApproval(current, chat)
    const pending = await pendingCalls(current, context)
    const verdicts = await askApproval(pending, keyboard, screen)
    if (!verdicts) {
      printOpenApproval(current, chat)
      return 'leave'
    }
    const next = await verbs.answer(current.id, verdicts)
    current = await follow(next, chat, leaving)
    if (leaving.signal.aborted) return 'leave'
  }
  return 'go-on'
}

/** The first Ctrl-C cancels the turn; the second leaves it to the next process. */
async function follow(runId: RunId, chat: ChatSession, leaving: AbortController): Promise<Run> {
  const { verbs, screen, keyboard } = chat
  chat.shownRuns.add(runId)
  let interrupts = 0
  const interrupt = () => {
    interrupts += 1
    if (interrupts > 1) return leaving.abort()
    verbs.cancel(runId).catch((fault) => screen.line(`\n  Cancelling the turn failed: ${fault}`))
  }
  keyboard.onInterrupt(interrupt)
  process.on('SIGINT', interrupt)
  try {
    return await followRun(runId, { session: chat, signal: leaving.signal, answers: screen, notes: screen })
  } finally {
    process.off('SIGINT', interrupt)
    keyboard.onInterrupt(() => {})
  }
}

function printOpenApproval({ id }: Run, { screen }: ChatSession): ChatOutcome {
  const { dim } = screen.look.paint
  screen.line('  The approval is still pending. Answer it with:')
  screen.line(`    holdfast approvals approve ${id}`)
  screen.line(`    holdfast approvals deny ${id} --reason "…"`)
  screen.line(dim('    or start holdfast chat in a terminal to be asked again.'))
  return 'go-on'
}

const pendingCalls = async (run: Run, context: ServiceContext) =>
  (await listApprovals(context)).find((pending) => pending.run.id === run.id)?.calls ?? []

async function printPendingCalls(run: Run, { context, screen }: ChatSession): Promise<void> {
  const calls = await pendingCalls(run, context)
  for (const call of calls) screen.line(`  ${callText(call, screen.look)}`)
}
