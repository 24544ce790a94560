import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { chatHistory } from '../chat/chat-history.ts'
import { type Keyboard, pipedKeyboard, terminalKeyboard } from '../chat/keyboard.ts'
import { runSlash } from '../chat/slash-commands.ts'
import { type After, finishLeftovers, rememberRuns, say, type Talk, tellMeanwhile } from '../chat/talk.ts'
import { HOW_TO_TALK, welcome, welcomeBack } from '../chat/welcome.ts'
import type { Context } from '../context.ts'
import { TERMINATED } from '../exit-codes.ts'
import { agentOrFirst } from '../first-agent.ts'
import { withHouse } from '../house.ts'
import { lastConversation } from '../pick-conversation.ts'
import { PERSON, renderMessage } from '../render/message.ts'
import { tellFault } from '../tell-fault.ts'

type ChatOptions = { agent?: string; new?: boolean }

/** How much of the past is shown when a conversation is resumed. */
const SHOWN_MESSAGES = 6

export async function chat(options: ChatOptions, context: Context): Promise<number> {
  const leaving = new AbortController()
  let exit = 0
  const terminate = () => {
    exit = TERMINATED
    leaving.abort()
  }
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  try {
    return await withHouse(context, 'turns', async (house) => {
      const { desk, verbs, settings } = house
      const agent = await agentOrFirst(options.agent, house)
      const conversation = await (options.new ? verbs.createConversation(agent) : lastConversation(agent, desk))
      const keyboard = openKeyboard(settings.home, context)
      leaving.signal.addEventListener('abort', () => keyboard.close())
      try {
        const talk = { ...house, agent, conversation, keyboard, screen: context.out, told: new Set<RunId>() }
        await talkOn(talk, leaving, context)
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

function openKeyboard(home: string, { out }: Context): Keyboard {
  const { stdin, stdout } = process
  if (stdin.isTTY && stdout.isTTY) return terminalKeyboard({ input: stdin, output: stdout, history: chatHistory(home) })
  return pipedKeyboard(stdin, out.write)
}

async function talkOn(talk: Talk, leaving: AbortController, context: Context): Promise<void> {
  const { keyboard, screen, server } = talk
  await tellWhereWeAre(talk)
  let after: After = await finishLeftovers(talk, leaving)
  let isIdle = after === 'nothing-done'
  if (!isIdle) screen.line()
  await rememberRuns(talk)
  while (after !== 'leave') {
    const line = await keyboard.readLine(`${screen.look.paint.bold(PERSON)} `)
    if (line === undefined) break
    isIdle = false
    const said = line.trim()
    after = await tellMeanwhile(talk, leaving)
    if (after === 'leave') break
    if (said.startsWith('/')) {
      if ((await runSlash(said, talk)) === 'quit') break
    } else if (said !== '') after = await sayOrTell(said, talk, { leaving, context })
    if (said !== '') screen.line()
  }
  if (!keyboard.isAttended && isIdle) for (const line of HOW_TO_TALK) screen.line(line)
  else if (after === 'leave' && leaving.signal.aborted)
    screen.line(
      `\n  Left in the middle of a turn; the ${server ? 'server goes on with it' : 'next start finishes it'}.`,
    )
}

/** At a terminal a refused message is no reason to end the chat; in a script it is. */
async function sayOrTell(
  said: string,
  talk: Talk,
  { leaving, context }: { leaving: AbortController; context: Context },
): Promise<After> {
  try {
    return await say(said, talk, leaving)
  } catch (fault) {
    if (!talk.keyboard.isAttended || !(fault instanceof Problem)) throw fault
    tellFault(fault, context)
    return 'go-on'
  }
}

async function tellWhereWeAre({ desk, agent, conversation, screen, keyboard, server }: Talk): Promise<void> {
  const messages = await listMessages(conversation.id, { limit: SHOWN_MESSAGES, take: 'newest' }, desk)
  const { look } = screen
  const isNew = messages.length === 0
  for (const line of (isNew ? welcome : welcomeBack)(agent, look)) screen.line(line)
  if (server) screen.line(look.paint.dim(`through the server at ${server}`))
  screen.line()
  // Who reads a pipe wants the answer, not what was said before.
  if (isNew || !keyboard.isAttended) return
  for (const message of messages) for (const line of renderMessage(message, look)) screen.line(line)
  screen.line(look.paint.dim('─'.repeat(Math.min(look.width, 60))))
}
