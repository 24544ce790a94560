import { text as readAll } from 'node:stream/consumers'
import type { AdmissionPolicy } from '../../core/admission.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { textOf } from '../../core/message.ts'
import { isSettled, type Run } from '../../core/run.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { findMovedRun } from '../../service/messages/joined-turn.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { EXIT_OF_STOP, INTERRUPTED, TERMINATED } from '../exit-codes.ts'
import { agentOrFirst } from '../first-agent.ts'
import { followRun } from '../follow-run.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { commandLine } from '../program-name.ts'
import { runErrorLines } from '../render/run-error.ts'
import { messageJson, usageJson } from '../run-json.ts'
import { onSignals } from '../signals.ts'
import { safeText } from '../terminal.ts'

type RunOptions = {
  agent?: string
  json?: boolean
  deny?: boolean
  stream: boolean
  whenBusy?: AdmissionPolicy
  requestId?: string
}

/**
 * Runs one turn: the final answer goes to stdout, everything else to stderr, and the exit code tells the stop reason. Only
 * a terminal shows the text as it arrives on stdout: text before a tool call, or of a failed attempt, is not the answer.
 */
export async function run(prompt: string, options: RunOptions, cli: CliContext): Promise<number> {
  const text = prompt === '-' ? await readAll(process.stdin) : prompt
  return withHome(cli, 'turns', async (session) => {
    const { context, verbs } = session
    const agent = await agentOrFirst(options.agent, session)
    const { id: conversationId } = await requireConversation(agent, undefined, context)
    const isStreamed = options.stream && !options.json
    const onGuarded = options.deny ? 'deny' : 'ask'
    const message = { agent, conversationId, text, onGuarded, streamTokens: isStreamed } as const
    const sent = await verbs.send({ ...message, ...defined({ whenBusy: options.whenBusy, otid: options.requestId }) })
    const { runId, type } = sent

    if (type === 'steered') cli.notes.line(`  The message joins the turn that runs (${runId}).`)
    else await printEarlierRun(runId, conversationId, { context, cli })
    let current = runId
    const signals = handleSignals(() => current, session, cli)
    try {
      const { out, notes } = cli
      const isLive = isStreamed && process.stdout.isTTY === true
      const follow = (id: RunId) =>
        isStreamed
          ? followRun(id, { session, signal: signals.signal, answers: isLive ? out : notes, notes })
          : waitForRun(id, context, signals.signal)
      const carrier = await follow(runId)
      const moved = signals.signal.aborted ? undefined : await findMovedRun(sent, context)
      if (moved) {
        current = moved
        notes.line(`  That turn ended without reading the message, which has a run of its own (${moved}).`)
      }
      const ended = moved ? await follow(moved) : carrier
      if (options.json) printJson(out, await runResultJson(ended, context))
      else if (!isLive) await printAnswer(ended, context, cli)
      if (!isStreamed && !options.json) printRunError(ended, cli)
      return exitCode(ended, { leftWith: signals.exit(), server: session.server }, cli)
    } finally {
      signals.stop()
    }
  })
}

/** The run may be queued behind an earlier turn; silence would look like a hang. */
async function printEarlierRun(
  runId: RunId,
  conversationId: ConversationId,
  { context, cli }: { context: ServiceContext; cli: CliContext },
): Promise<void> {
  const [running] = await listRuns({ conversationId, statuses: ['running'] }, 1, context)
  if (running && running.id !== runId) cli.notes.line(`  Waiting for an earlier turn to finish (${running.id}).`)
}

type SignalHandling = { signal: AbortSignal; exit(): number; stop(): void }

/** The first Ctrl-C cancels the turn, the second leaves it to the next process. */
function handleSignals(current: () => RunId, { verbs }: HomeSession, { notes }: CliContext): SignalHandling {
  const leaving = new AbortController()
  let interrupts = 0
  let exit = INTERRUPTED
  const stop = onSignals({
    interrupt() {
      interrupts += 1
      if (interrupts > 1) return leaving.abort()
      verbs.cancel(current()).catch((fault) => notes.line(`holdfast: cancelling the turn failed: ${fault}`))
    },
    terminate() {
      exit = TERMINATED
      leaving.abort()
    },
  })
  return { signal: leaving.signal, exit: () => exit, stop }
}

type ExitCodeOptions = { leftWith: number; server: string | undefined }

function exitCode(ended: Run, { leftWith, server }: ExitCodeOptions, { notes }: CliContext): number {
  if (ended.waiting) {
    notes.line(`  This turn waits for your approval. To approve: ${commandLine(`approvals approve ${ended.id}`)}`)
    notes.line(`  To deny: ${commandLine(`approvals deny ${ended.id} --reason "…"`)}`)
  }
  if (ended.waiting || isSettled(ended)) return EXIT_OF_STOP[ended.stopReason ?? 'error']
  const who = server ? `The server at ${server}` : 'The next Holdfast process on this home'
  notes.line(`  Left ${ended.id} unfinished. ${who} continues it.`)
  return leftWith
}

/** The text of the last answer; one that calls tools is not the final one. */
async function printAnswer(ended: Run, context: ServiceContext, { out }: CliContext): Promise<void> {
  const { messages } = await showRun(ended.id, context)
  const answers = messages.flatMap(({ body }) => (body.role === 'assistant' ? [body] : []))
  const last = answers.at(-1)
  const text = last && last.calls.length === 0 ? textOf(last.content) : ''
  if (text !== '') out.line(safeText(text).replace(/\n$/, ''))
}

function printRunError(ended: Run, { notes }: CliContext): void {
  if (!ended.error) return
  const [error, ...advice] = runErrorLines(ended.error)
  notes.line(`  ✗ ${error}`)
  for (const line of advice) notes.line(`    ${line}`)
}

export async function runResultJson(ended: Run, context: ServiceContext) {
  const { steps, messages } = await showRun(ended.id, context)
  return {
    run_id: ended.id,
    status: ended.status,
    stop_reason: ended.stopReason ?? null,
    error: ended.error ?? null,
    messages: messages.map(messageJson),
    usage: usageJson(steps),
  }
}
