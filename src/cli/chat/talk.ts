import type { Agent, Conversation } from '../../core/agent.ts'
import type { RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import type { Desk } from '../../service/desk.ts'
import { listRuns } from '../../service/runs/runs.ts'
import { followRun } from '../follow-run.ts'
import type { House } from '../house.ts'
import type { Screen } from '../terminal.ts'
import { askApproval, callText } from './ask-approval.ts'
import type { Keyboard } from './keyboard.ts'

/** `go-on`: the next line may be read. `nothing-done`: the same. `leave`: the person left in the middle. */
export type After = 'go-on' | 'nothing-done' | 'leave'

export type Talk = House & {
  agent: Agent
  conversation: Conversation
  keyboard: Keyboard
  screen: Screen
  /** Runs that were shown here, or were over before this chat began. */
  told: Set<RunId>
}

/** Says one thing and shows all that comes of it, approvals included. */
export async function say(text: string, talk: Talk, leaving: AbortController): Promise<After> {
  const { verbs, agent, conversation } = talk
  return seeThrough(await verbs.send({ agent, conversationId: conversation.id, text }), talk, leaving)
}

/** What an earlier process left: a turn that is being recovered, those queued behind it, an open approval. */
export async function finishLeftovers(talk: Talk, leaving: AbortController): Promise<After> {
  const { desk, conversation, screen } = talk
  const { bold } = screen.look.paint
  const filter = { conversationId: conversation.id }
  const unfinished = await listRuns({ ...filter, statuses: ['running', 'created'] }, 100, desk)
  for (const run of unfinished.reverse()) {
    const what = run.continues ? 'An answered approval is carried out' : 'A turn was not finished; it goes on'
    screen.line(bold(`${what} (${run.id}):`))
    if ((await seeThrough(run.id, talk, leaving)) === 'leave') return 'leave'
  }
  const [waiting] = await listRuns({ ...filter, waiting: true }, 1, desk)
  if (!waiting) return unfinished.length > 0 ? 'go-on' : 'nothing-done'
  const { keyboard } = talk
  screen.line(bold(`An approval is still open (${waiting.id}):`))
  await tellPending(waiting, talk)
  return keyboard.isAttended ? settleApprovals(waiting, talk, leaving) : leaveOpen(waiting, talk)
}

/** How many turns can begin by themselves between two lines, that anybody would want to read. */
const MOST_MEANWHILE = 20

export async function rememberRuns({ desk, conversation, told }: Talk): Promise<void> {
  for (const { id } of await listRuns({ conversationId: conversation.id }, MOST_MEANWHILE, desk)) told.add(id)
}

/** What began without this chat since somebody last looked: a process that ended woke the agent, another window spoke. */
export async function tellMeanwhile(talk: Talk, leaving: AbortController): Promise<After> {
  const { desk, conversation, screen, told } = talk
  const runs = await listRuns({ conversationId: conversation.id }, MOST_MEANWHILE, desk)
  for (const run of runs.filter(({ id }) => !told.has(id)).reverse()) {
    screen.line(screen.look.paint.bold(`Meanwhile (${run.id}):`))
    if ((await seeThrough(run.id, talk, leaving)) === 'leave') return 'leave'
    screen.line()
  }
  return 'go-on'
}

async function seeThrough(runId: RunId, talk: Talk, leaving: AbortController): Promise<After> {
  const ended = await follow(runId, talk, leaving)
  if (leaving.signal.aborted) return 'leave'
  return settleApprovals(ended, talk, leaving)
}

async function settleApprovals(run: Run, talk: Talk, leaving: AbortController): Promise<After> {
  const { desk, verbs, keyboard, screen } = talk
  let current = run
  while (current.waiting) {
    if (!keyboard.isAttended) return leaveOpen(current, talk)
    const pending = await pendingCalls(current, desk)
    const verdicts = await askApproval(pending, keyboard, screen)
    if (!verdicts) {
      leaveOpen(current, talk)
      return 'leave'
    }
    const next = await verbs.answer(current.id, verdicts)
    current = await follow(next, talk, leaving)
    if (leaving.signal.aborted) return 'leave'
  }
  return 'go-on'
}

/** Ctrl-C cancels the turn; once more leaves it to be finished by the next process. */
async function follow(runId: RunId, talk: Talk, leaving: AbortController): Promise<Run> {
  const { verbs, screen, keyboard } = talk
  talk.told.add(runId)
  let interrupts = 0
  const interrupt = () => {
    interrupts += 1
    if (interrupts > 1) return leaving.abort()
    verbs.cancel(runId).catch((fault) => screen.line(`\n  The cancel failed: ${fault}`))
  }
  keyboard.onInterrupt(interrupt)
  process.on('SIGINT', interrupt)
  try {
    return await followRun(runId, { house: talk, signal: leaving.signal, answers: screen, notes: screen })
  } finally {
    process.off('SIGINT', interrupt)
    keyboard.onInterrupt(() => {})
  }
}

function leaveOpen({ id }: Run, { screen }: Talk): After {
  const { dim } = screen.look.paint
  screen.line('  Left open. The agent waits for your answer:')
  screen.line(`    holdfast approvals approve ${id}`)
  screen.line(`    holdfast approvals deny ${id} --reason "…"`)
  screen.line(dim('    or start holdfast chat in a terminal, which asks again.'))
  return 'go-on'
}

const pendingCalls = async (run: Run, desk: Desk) =>
  (await listApprovals(desk)).find((pending) => pending.run.id === run.id)?.calls ?? []

async function tellPending(run: Run, { desk, screen }: Talk): Promise<void> {
  const calls = await pendingCalls(run, desk)
  for (const call of calls) screen.line(`  ${callText(call, screen.look)}`)
}
