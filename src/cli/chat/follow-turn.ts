import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Run } from '../../core/run.ts'
import { followRun } from '../follow-run.ts'
import { USER_PROMPT } from '../render/message.ts'
import { type ChatSession, modelOf } from './chat-session.ts'
import type { Entered } from './keyboard.ts'
import { queueMovedMessages, sendFromChat } from './send-from-chat.ts'

/**
 * Opens a run and prints it to its end. The first Ctrl-C cancels it, also while it is being opened; the second leaves it
 * to the next process. What is typed meanwhile is sent at once. Undefined: the user left before the run was known.
 */
export async function followTurn(open: () => Promise<RunId>, chat: ChatSession): Promise<Run | undefined> {
  const ended = await showTurn(open, chat)
  if (ended && !chat.leaving.signal.aborted) await queueMovedMessages(ended, chat)
  return ended
}

async function showTurn(open: () => Promise<RunId>, chat: ChatSession): Promise<Run | undefined> {
  const { verbs, screen, keyboard, status, leaving } = chat
  let runId: RunId | undefined
  let interrupts = 0
  const cancel = async (id: RunId) => {
    try {
      await verbs.cancel(id)
    } catch (fault) {
      screen.line(`  Cancelling the turn failed: ${fault instanceof Error ? fault.message : fault}`)
    }
  }
  const interrupt = () => {
    interrupts += 1
    if (interrupts > 1) return leaving.abort()
    status.cancelling()
    if (runId) void cancel(runId)
  }
  const opened = open()
  // One after the other, behind the message that opens the turn: the order of lines is that of messages.
  let typed: Promise<unknown> = opened.catch(() => {})
  const line = (entered: Entered) => {
    typed = typed.then(() => takeLine(entered, chat))
  }
  status.begin(modelOf(chat))
  const release = keyboard.duringTurn({ line, interrupt, leave: () => leaving.abort() })
  process.on('SIGINT', interrupt)
  try {
    runId = await unlessAborted(opened, leaving.signal)
    if (runId === undefined) return undefined
    chat.current = runId
    chat.shownRuns.add(runId)
    if (interrupts > 0) void cancel(runId)
    const ended = await followRun(runId, {
      session: chat,
      signal: leaving.signal,
      answers: chat.answers,
      notes: screen,
      onChunk: ({ chunk }) => status.take(chunk),
    })
    return ended
  } finally {
    release()
    process.off('SIGINT', interrupt)
    await unlessAborted(typed, leaving.signal)
    delete chat.current
    status.end()
    chat.finish()
  }
}

/** A line that was entered during a turn: a command, or a message. */
async function takeLine({ text, shown }: Entered, chat: ChatSession): Promise<void> {
  const { screen, keyboard, status, queued, shownRuns, leaving } = chat
  if (leaving.signal.aborted) return
  try {
    if (text.trim().startsWith('/')) {
      if ((await chat.runCommand(text.trim())) !== 'go-on') leaving.abort()
      return
    }
    const { runId } = await sendFromChat({ text, shown }, chat)
    const { bold, dim } = screen.look.paint
    if (runId === chat.current) return screen.line(`${bold(USER_PROMPT)} ${shown} ${dim('(joins the running turn)')}`)
    shownRuns.add(runId)
    queued.push({ runId, shown })
    status.showQueued(queued.map((message) => message.shown))
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    chat.reportProblem(fault)
    keyboard.restore(text)
  }
}

/** What the work resolves with, or undefined as soon as the signal aborts. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined
  let stop = () => {}
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    // The work may still fail after the chat has left.
    work.catch(() => {})
  }
}
