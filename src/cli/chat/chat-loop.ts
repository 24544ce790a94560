import type { RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { listRuns } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { commandLine } from '../program-name.ts'
import { USER_PROMPT } from '../render/message.ts'
import { askApproval, callText } from './ask-approval.ts'
import type { ChatSession } from './chat-session.ts'
import { followTurn } from './follow-turn.ts'
import type { Entered } from './keyboard.ts'
import { nextQueued, sendFromChat } from './send-from-chat.ts'
import { turnSummary } from './turn-summary.ts'

/** `go-on`: read the next line. `nothing-done`: likewise, nothing was printed. `leave`: the user left during a turn. */
export type ChatOutcome = 'go-on' | 'nothing-done' | 'leave'

/** Sends one message and prints the whole turn, approvals included, and the turns of messages sent meanwhile. */
export async function sendAndFollow(entered: Entered, chat: ChatSession): Promise<ChatOutcome> {
  echo(entered.shown, chat)
  return followTurnToEnd(async () => {
    const { runId, type } = await sendFromChat(entered, chat)
    if (type === 'steered') chat.screen.line(chat.screen.look.paint.dim(`  It joins the turn that runs (${runId}).`))
    return runId
  }, chat)
}

/** A terminal shows the message above its answer; without one the input was echoed already. */
export function echo(shown: string, { screen, isLive }: ChatSession): void {
  if (isLive)
    screen.line(
      `${screen.look.paint.bold(USER_PROMPT)} ${shown.replaceAll('\n', `\n${' '.repeat(USER_PROMPT.length + 1)}`)}`,
    )
}

/** Continues what an earlier process left: an unfinished turn, the runs queued behind it, a pending approval. */
export async function resumeUnfinished(chat: ChatSession): Promise<ChatOutcome> {
  const { context, conversation, screen } = chat
  const { bold } = screen.look.paint
  const filter = { conversationId: conversation.id }
  const unfinished = await listRuns({ ...filter, statuses: ['running', 'created'] }, 100, context)
  for (const run of unfinished.reverse()) {
    const what = run.continues ? 'Continuing an answered approval' : 'Continuing an unfinished turn'
    screen.line(bold(`${what} (${run.id}):`))
    if ((await followTurnToEnd(async () => run.id, chat)) === 'leave') return 'leave'
  }
  const [waiting] = await listRuns({ ...filter, waiting: true }, 1, context)
  if (!waiting) return unfinished.length > 0 ? 'go-on' : 'nothing-done'
  const { keyboard } = chat
  screen.line(bold(`An approval is still pending (${waiting.id}):`))
  await printPendingCalls(waiting, chat)
  return keyboard.isAttended ? askForApprovals(waiting, chat) : printOpenApproval(waiting, chat)
}

/** At most this many runs that began since the last input are printed. */
const MAX_NEW_RUNS = 20

export async function markRunsShown({ context, conversation, shownRuns }: ChatSession): Promise<void> {
  for (const { id } of await listRuns({ conversationId: conversation.id }, MAX_NEW_RUNS, context)) shownRuns.add(id)
}

/** Prints runs that began without this chat: an ended process woke the agent, or another client sent a message. */
export async function showNewRuns(chat: ChatSession): Promise<ChatOutcome> {
  const { context, conversation, screen, shownRuns } = chat
  const runs = await listRuns({ conversationId: conversation.id }, MAX_NEW_RUNS, context)
  for (const run of runs.filter(({ id }) => !shownRuns.has(id)).reverse()) {
    screen.line(screen.look.paint.bold(`Since your last message (${run.id}):`))
    if ((await followTurnToEnd(async () => run.id, chat)) === 'leave') return 'leave'
    screen.line()
  }
  return 'go-on'
}

export async function followTurnToEnd(open: () => Promise<RunId>, chat: ChatSession): Promise<ChatOutcome> {
  const ended = await followTurn(open, chat)
  if (!ended || chat.leaving.signal.aborted) return 'leave'
  const outcome = await askForApprovals(ended, chat)
  const next = outcome === 'go-on' ? nextQueued(chat) : undefined
  if (!next) return outcome
  chat.screen.line()
  echo(next.shown, chat)
  return followTurnToEnd(async () => next.runId, chat)
}

/** Answers what a run waits for, until its turn has ended; prints what the turn cost. */
async function askForApprovals(run: Run, chat: ChatSession): Promise<ChatOutcome> {
  const { context, verbs, keyboard } = chat
  const turn = [run.id]
  let current = run
  const { id: conversationId } = chat.conversation
  while (current.waiting) {
    if (!keyboard.isAttended) return printOpenApproval(current, chat)
    const verdicts = await askApproval(await pendingCalls(current, context), chat)
    // `/new` or `/switch` at the question: the approval waits in the conversation that was left.
    if (!verdicts && chat.conversation.id !== conversationId) return 'go-on'
    if (!verdicts) {
      printOpenApproval(current, chat)
      return 'leave'
    }
    const waiting = current.id
    const continued = await followTurn(() => verbs.answer(waiting, verdicts), chat)
    if (!continued || chat.leaving.signal.aborted) return 'leave'
    turn.push(continued.id)
    current = continued
  }
  await printSummary(turn, chat)
  return 'go-on'
}

/** Only for a person: a script wants the answer. */
async function printSummary(runIds: readonly RunId[], { keyboard, screen, context }: ChatSession): Promise<void> {
  if (!keyboard.isAttended) return
  const summary = await turnSummary(runIds, context)
  if (summary !== undefined) screen.line(screen.look.paint.dim(`  ${summary}`))
}

function printOpenApproval({ id }: Run, { screen }: ChatSession): ChatOutcome {
  const { dim } = screen.look.paint
  screen.line('  The approval is still pending. Answer it with:')
  screen.line(`    ${commandLine(`approvals approve ${id}`)}`)
  screen.line(`    ${commandLine(`approvals deny ${id} --reason "…"`)}`)
  screen.line(dim('    or type /approve or /deny in a chat with this agent.'))
  return 'go-on'
}

export const pendingCalls = async (run: Run, context: ServiceContext) =>
  (await listApprovals(context)).find((pending) => pending.run.id === run.id)?.calls ?? []

async function printPendingCalls(run: Run, { context, screen }: ChatSession): Promise<void> {
  const calls = await pendingCalls(run, context)
  for (const call of calls) screen.line(`  ${callText(call, screen.look)}`)
}
