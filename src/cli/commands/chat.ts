import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { chatHistory } from '../chat/chat-history.ts'
import {
  type ChatOutcome,
  type ChatSession,
  markRunsShown,
  resumeUnfinished,
  sendAndFollow,
  showNewRuns,
} from '../chat/chat-loop.ts'
import { type Keyboard, pipedKeyboard, terminalKeyboard } from '../chat/keyboard.ts'
import { runSlashCommand } from '../chat/slash-commands.ts'
import { NO_INPUT_HELP, welcome, welcomeBack } from '../chat/welcome.ts'
import type { CliContext } from '../cli-context.ts'
import { TERMINATED } from '../exit-codes.ts'
import { agentOrFirst } from '../first-agent.ts'
import { withHome } from '../home-session.ts'
import { lastConversation } from '../pick-conversation.ts'
import { printError } from '../print-error.ts'
import { renderMessage, USER_PROMPT } from '../render/message.ts'

type ChatOptions = { agent?: string; new?: boolean }

/** Messages printed when a conversation is resumed. */
const SHOWN_MESSAGES = 6

export async function chat(options: ChatOptions, cli: CliContext): Promise<number> {
  const leaving = new AbortController()
  let exit = 0
  const terminate = () => {
    exit = TERMINATED
    leaving.abort()
  }
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  try {
    return await withHome(cli, 'turns', async (session) => {
      const { context, verbs, settings } = session
      const agent = await agentOrFirst(options.agent, session)
      const conversation = await (options.new ? verbs.createConversation(agent) : lastConversation(agent, context))
      const keyboard = openKeyboard(settings.home, cli)
      leaving.signal.addEventListener('abort', () => keyboard.close())
      try {
        const chat = { ...session, agent, conversation, keyboard, screen: cli.out, shownRuns: new Set<RunId>() }
        await runChatLoop(chat, leaving, cli)
      } finally {
        keyboard.close()
      }
      return exit
    })
  } finally {
    process.off('SIGTERM', terminate)
    process.off('SIGHUP', terminate)
  }
}

function openKeyboard(home: string, { out }: CliContext): Keyboard {
  const { stdin, stdout } = process
  if (stdin.isTTY && stdout.isTTY) return terminalKeyboard({ input: stdin, output: stdout, history: chatHistory(home) })
  return pipedKeyboard(stdin, out.write)
}

async function runChatLoop(chat: ChatSession, leaving: AbortController, cli: CliContext): Promise<void> {
  const { keyboard, screen, server } = chat
  await printOpening(chat)
  let after: ChatOutcome = await resumeUnfinished(chat, leaving)
  let isIdle = after === 'nothing-done'
  if (!isIdle) screen.line()
  await markRunsShown(chat)
  while (after !== 'leave') {
    const line = await keyboard.readLine(`${screen.look.paint.bold(USER_PROMPT)} `)
    if (line === undefined) break
    isIdle = false
    const input = line.trim()
    after = await showNewRuns(chat, leaving)
    if (after === 'leave') break
    if (input.startsWith('/')) {
      if ((await runSlashCommand(input, chat)) === 'quit') break
    } else if (input !== '') after = await sendOrPrintError(input, chat, { leaving, cli })
    if (input !== '') screen.line()
  }
  if (!keyboard.isAttended && isIdle) for (const line of NO_INPUT_HELP) screen.line(line)
  else if (after === 'leave' && leaving.signal.aborted)
    screen.line(
      `\n  Left during a turn. The ${server ? `server at ${server}` : 'next Holdfast process on this home'} continues it.`,
    )
}

/** At a terminal a refused message does not end the chat; in a script it does. */
async function sendOrPrintError(
  input: string,
  chat: ChatSession,
  { leaving, cli }: { leaving: AbortController; cli: CliContext },
): Promise<ChatOutcome> {
  try {
    return await sendAndFollow(input, chat, leaving)
  } catch (fault) {
    if (!chat.keyboard.isAttended || !(fault instanceof Problem)) throw fault
    printError(fault, cli)
    return 'go-on'
  }
}

async function printOpening({ context, agent, conversation, screen, keyboard, server }: ChatSession): Promise<void> {
  const messages = await listMessages(conversation.id, { limit: SHOWN_MESSAGES, take: 'newest' }, context)
  const { look } = screen
  const isNew = messages.length === 0
  for (const line of (isNew ? welcome : welcomeBack)(agent, look)) screen.line(line)
  if (server) screen.line(look.paint.dim(`connected to the server at ${server}`))
  screen.line()
  // A script wants the answer, not the earlier messages.
  if (isNew || !keyboard.isAttended) return
  for (const message of messages) for (const line of renderMessage(message, look)) screen.line(line)
  screen.line(look.paint.dim('─'.repeat(Math.min(look.width, 60))))
}
