import type { AdmissionPolicy } from '../../core/admission.ts'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { type ChatOutcome, markRunsShown, resumeUnfinished, sendAndFollow, showNewRuns } from '../chat/chat-loop.ts'
import type { ChatSession } from '../chat/chat-session.ts'
import { printLastMessages } from '../chat/conversation-commands.ts'
import type { Entered } from '../chat/keyboard.ts'
import { type ChatTerminal, openTerminal } from '../chat/open-terminal.ts'
import { completeCommand, runSlashCommand } from '../chat/slash-commands.ts'
import { noInputHelp, welcome, welcomeBack } from '../chat/welcome.ts'
import type { CliContext } from '../cli-context.ts'
import { TERMINATED } from '../exit-codes.ts'
import { agentOrFirst } from '../first-agent.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { lastConversation, requireConversationNamed } from '../pick-conversation.ts'
import { printError } from '../print-error.ts'
import { USER_PROMPT } from '../render/message.ts'
import { ignoreInterruptsWhileClosing } from '../signals.ts'

type ChatOptions = { agent?: string; new?: boolean; conversation?: string; whenBusy?: AdmissionPolicy }

export async function chat(options: ChatOptions, cli: CliContext): Promise<number> {
  const leaving = new AbortController()
  let exit = 0
  const terminate = () => {
    exit = TERMINATED
    leaving.abort()
  }
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  const leave = () => leaving.abort()
  // A person who no longer sees the answers has left; a script runs to its end.
  if (process.stdin.isTTY) process.stdout.on('error', leave)
  const terminal = openTerminal(cli)
  // Notes about the connection go between the lines of the chat, not into them.
  const notes = terminal.isLive ? terminal.screen : cli.notes
  try {
    return await withHome({ ...cli, notes }, 'turns', async (session) => {
      const chat = await openChat(options, session, { cli: { ...cli, notes }, terminal, leaving })
      const close = () => {
        if (terminal.isLive) ignoreInterruptsWhileClosing()
        chat.keyboard.close()
      }
      leaving.signal.addEventListener('abort', close)
      try {
        await runChatLoop(chat)
      } finally {
        chat.finish()
        close()
      }
      return exit
    })
  } finally {
    process.off('SIGTERM', terminate)
    process.off('SIGHUP', terminate)
    process.stdout.off('error', leave)
  }
}

type OpenChatDeps = { cli: CliContext; terminal: ChatTerminal; leaving: AbortController }

async function openChat(
  options: ChatOptions,
  session: HomeSession,
  { cli, terminal, leaving }: OpenChatDeps,
): Promise<ChatSession> {
  const { context, verbs } = session
  const { openKeyboard, ...screens } = terminal
  const named =
    options.conversation === undefined ? undefined : await requireConversationNamed(options.conversation, context)
  const agent = named?.agent ?? (await agentOrFirst(options.agent, session))
  const conversation =
    named?.conversation ?? (await (options.new ? verbs.createConversation(agent) : lastConversation(agent, context)))
  const chat: ChatSession = {
    ...session,
    ...screens,
    agent,
    conversation,
    keyboard: openKeyboard((line) => completeCommand(line, chat)),
    ...defined({ whenBusy: options.whenBusy }),
    shownRuns: new Set<RunId>(),
    queued: [],
    steered: [],
    runCommand: (line) => runSlashCommand(line, chat),
    reportProblem: (problem) => void printError(problem, cli),
    leaving,
  }
  return chat
}

async function runChatLoop(chat: ChatSession): Promise<void> {
  const { keyboard, screen, server, leaving } = chat
  await printOpening(chat)
  let after: ChatOutcome = await resumeUnfinished(chat)
  let isIdle = after === 'nothing-done'
  if (!isIdle) screen.line()
  await markRunsShown(chat)
  while (after !== 'leave') {
    const entered = await keyboard.readLine(`${screen.look.paint.bold(USER_PROMPT)} `)
    if (entered === undefined) break
    isIdle = false
    after = await showNewRuns(chat)
    if (after === 'leave') break
    const outcome = await takeLine(entered, chat)
    if (outcome === 'quit') break
    after = outcome
    if (entered.text.trim() !== '') screen.line()
  }
  if (!keyboard.isAttended && isIdle) for (const line of noInputHelp()) screen.line(line)
  else if (after === 'leave' && leaving.signal.aborted)
    screen.line(
      `\n  Left during a turn. The ${server ? `server at ${server}` : 'next Holdfast process on this home'} continues it.`,
    )
}

/** At a terminal a refused message does not end the chat; in a script it does. */
async function takeLine(entered: Entered, chat: ChatSession): Promise<ChatOutcome | 'quit'> {
  const text = entered.text.trim()
  if (text === '') return 'go-on'
  const isCommand = text.startsWith('/')
  try {
    if (!isCommand) return await sendAndFollow({ ...entered, text }, chat)
    if (chat.isLive) chat.screen.line(`${chat.screen.look.paint.bold(USER_PROMPT)} ${entered.shown}`)
    return await chat.runCommand(text)
  } catch (fault) {
    if (!(fault instanceof Problem) || (!chat.keyboard.isAttended && !isCommand)) throw fault
    chat.reportProblem(fault)
    if (!isCommand) chat.keyboard.restore(text)
    return 'go-on'
  }
}

async function printOpening(chat: ChatSession): Promise<void> {
  const { context, agent, conversation, screen, keyboard, server } = chat
  const [newest] = await listMessages(conversation.id, { limit: 1, take: 'newest' }, context)
  const { look } = screen
  for (const line of (newest ? welcomeBack : welcome)(agent, look)) screen.line(line)
  if (server) screen.line(look.paint.dim(`connected to the server at ${server}`))
  screen.line()
  // A script wants the answer, not the earlier messages.
  if (newest && keyboard.isAttended) await printLastMessages(chat)
}
