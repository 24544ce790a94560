import { defined } from '../../core/defined.ts'
import type { Run } from '../../core/run.ts'
import { findMovedRun } from '../../service/messages/joined-turn.ts'
import { shortened } from '../terminal.ts'
import type { SentText } from '../verbs.ts'
import type { ChatSession } from './chat-session.ts'
import type { Entered } from './keyboard.ts'

/** Sends a message to the conversation of this chat; while a turn runs, `--when-busy` says what becomes of it. */
export async function sendFromChat({ text, shown }: Entered, chat: ChatSession): Promise<SentText> {
  const { verbs, agent, conversation, effort, whenBusy } = chat
  const message = { agent, conversationId: conversation.id, text, ...defined({ reasoning: effort, whenBusy }) }
  const sent = await verbs.send(message)
  if (sent.type === 'steered') chat.steered.push({ sent, shown })
  return sent
}

const SHOWN_CHARACTERS = 40

/** A message that joined a turn which ended without reading it has a run of its own: its turn follows. */
export async function queueMovedMessages(ended: Run, chat: ChatSession): Promise<void> {
  // The turn goes on after the approval, and may read the message then.
  if (ended.waiting) return
  const { context, screen, shownRuns, queued } = chat
  const moved: typeof queued = []
  for (const { sent, shown } of chat.steered.splice(0)) {
    const runId = await findMovedRun(sent, context)
    if (!runId) continue
    const words = shortened(shown.replaceAll(/\s+/g, ' '), SHOWN_CHARACTERS)
    screen.line(screen.look.paint.dim(`  The turn ended without reading "${words}"; its own turn follows.`))
    shownRuns.add(runId)
    moved.push({ runId, shown })
  }
  queued.unshift(...moved)
}

/** The message whose turn follows next. */
export function nextQueued({ queued, status }: ChatSession): ChatSession['queued'][number] | undefined {
  const next = queued.shift()
  status.showQueued(queued.map(({ shown }) => shown))
  return next
}
