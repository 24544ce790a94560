import { text as readAll } from 'node:stream/consumers'
import type { ConversationId, RunId } from '../../core/id.ts'
import { textOf } from '../../core/message.ts'
import { isSettled, type Run } from '../../core/run.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import { type Context, printJson } from '../context.ts'
import { EXIT_OF_STOP, INTERRUPTED, TERMINATED } from '../exit-codes.ts'
import { agentOrFirst } from '../first-agent.ts'
import { followRun } from '../follow-run.ts'
import { type House, withHouse } from '../house.ts'
import { messageJson, usageJson } from '../run-json.ts'
import { onSignals } from '../signals.ts'
import { safeText } from '../terminal.ts'

type RunOptions = { agent?: string; json?: boolean; deny?: boolean; stream: boolean }

/** One turn: the answer goes to stdout, everything about it to stderr, why it ended into the exit code. */
export async function run(prompt: string, options: RunOptions, context: Context): Promise<number> {
  const text = prompt === '-' ? await readAll(process.stdin) : prompt
  return withHouse(context, 'turns', async (house) => {
    const { desk, verbs } = house
    const agent = await agentOrFirst(options.agent, house)
    const { id: conversationId } = await requireConversation(agent, undefined, desk)
    const isStreamed = options.stream && !options.json
    const onGuarded = options.deny ? 'deny' : 'ask'
    const runId = await verbs.send({ agent, conversationId, text, onGuarded, streamTokens: isStreamed })

    await tellQueue(runId, conversationId, { desk, context })
    const attention = payAttention(runId, house, context)
    try {
      const { out: answers, notes } = context
      const ended = isStreamed
        ? await followRun(runId, { house, signal: attention.signal, answers, notes })
        : await waitForRun(runId, desk, attention.signal)
      if (options.json) await printWhole(ended, desk, context)
      else if (!isStreamed) await printAnswer(ended, desk, context)
      return exitCode(ended, { leftWith: attention.exit(), server: house.server }, context)
    } finally {
      attention.stop()
    }
  })
}

/** An earlier turn may still have to be finished; silence would look like a hang. */
async function tellQueue(
  runId: RunId,
  conversationId: ConversationId,
  { desk, context }: { desk: Desk; context: Context },
): Promise<void> {
  const [running] = await listRuns({ conversationId, statuses: ['running'] }, 1, desk)
  if (running && running.id !== runId) context.notes.line(`  First ${running.id} is finished, an earlier turn.`)
}

type Attention = { signal: AbortSignal; exit(): number; stop(): void }

/** The first Ctrl-C cancels the turn, the second leaves it to whoever comes next. */
function payAttention(runId: RunId, { verbs }: House, { notes }: Context): Attention {
  const leaving = new AbortController()
  let interrupts = 0
  let exit = INTERRUPTED
  const stop = onSignals({
    interrupt() {
      interrupts += 1
      if (interrupts > 1) return leaving.abort()
      verbs.cancel(runId).catch((fault) => notes.line(`holdfast: the cancel failed: ${fault}`))
    },
    terminate() {
      exit = TERMINATED
      leaving.abort()
    },
  })
  return { signal: leaving.signal, exit: () => exit, stop }
}

type Leaving = { leftWith: number; server: string | undefined }

function exitCode(ended: Run, { leftWith, server }: Leaving, { notes }: Context): number {
  if (ended.waiting) {
    notes.line(`  This turn waits for your approval: holdfast approvals approve ${ended.id}`)
    notes.line(`  or, to decline: holdfast approvals deny ${ended.id} --reason "…"`)
  }
  if (ended.waiting || isSettled(ended)) return EXIT_OF_STOP[ended.stopReason ?? 'error']
  const who = server ? `the server at ${server}` : 'the next holdfast process on this home'
  notes.line(`  Left ${ended.id} unfinished; ${who} goes on with it.`)
  return leftWith
}

async function printAnswer(ended: Run, desk: Desk, { out, notes }: Context): Promise<void> {
  const { messages } = await showRun(ended.id, desk)
  const answers = messages.flatMap(({ body }) => (body.role === 'assistant' ? [textOf(body.content)] : []))
  for (const answer of answers.filter((one) => one !== '')) out.line(safeText(answer))
  if (ended.error) notes.line(`  ✗ ${ended.error.message}${ended.error.detail ? ` (${ended.error.detail})` : ''}`)
}

async function printWhole(ended: Run, desk: Desk, { out }: Context): Promise<void> {
  const { steps, messages } = await showRun(ended.id, desk)
  printJson(out, {
    run_id: ended.id,
    status: ended.status,
    stop_reason: ended.stopReason ?? null,
    error: ended.error ?? null,
    messages: messages.map(messageJson),
    usage: usageJson(steps),
  })
}
