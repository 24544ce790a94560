import type { Conversation } from '../../core/agent.ts'
import { type Message, textOf } from '../../core/message.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { runOverviews } from '../../service/runs/run-overview.ts'
import { listRuns } from '../../service/runs/runs.ts'
import { commandLine } from '../program-name.ts'
import { renderMessage } from '../render/message.ts'
import { ageText, count } from '../render/run.ts'
import { printRuns } from '../render/run-table.ts'
import { shortId } from '../render/short-id.ts'
import { safeName, safeText } from '../terminal.ts'
import { cutToWidth } from '../text-width.ts'
import { markRunsShown, resumeUnfinished } from './chat-loop.ts'
import type { ChatSession, CommandOutcome } from './chat-session.ts'
import { readConversations, requireListed, spokenAt } from './listed-conversations.ts'
import type { SlashCommand } from './slash-command.ts'

const MAX_HISTORY = 200
const SHOWN_RUNS = 20
/** Messages printed when a conversation is resumed. */
const SHOWN_MESSAGES = 6
const MAX_RULE = 60

export const CONVERSATION_COMMANDS: Record<string, SlashCommand> = {
  new: {
    description: 'Start a new conversation with the same agent.',
    notDuringTurn: true,
    async run(_, chat) {
      const { conversation: left, verbs, agent, screen } = chat
      const waits = await waitsForApproval(chat)
      moveTo(await verbs.createConversation(agent, waits ? undefined : left.id), chat)
      const what = waits ? 'waits for approval, and its processes go on' : 'is kept, and its processes end'
      screen.line(`  Started a new conversation. The old one ${what}: /switch ${shortId(left.id)} returns to it.`)
      return undefined
    },
  },
  conversations: {
    description: 'List the conversations with this agent.',
    run: async (_, chat) => printConversations(chat),
  },
  switch: {
    usage: 'N | id | title',
    description: 'Continue another conversation with this agent.',
    notDuringTurn: true,
    run: switchConversation,
    async complete(chat) {
      const listed = await readConversations(chat)
      return listed.map(({ conversation }) => shortId(conversation.id))
    },
  },
  history: {
    description: 'Show the messages of this conversation.',
    async run(_, chat) {
      const { context, conversation, screen } = chat
      const messages = await listMessages(conversation.id, { limit: MAX_HISTORY, take: 'newest' }, context)
      for (const message of messages) printMessage(message, chat)
      if (messages.length === 0) screen.line('  No messages yet.')
      return undefined
    },
  },
  runs: {
    description: 'Show the runs of this conversation and how they ended.',
    async run(_, { context, conversation, screen }) {
      const runs = await listRuns({ conversationId: conversation.id }, SHOWN_RUNS, context)
      if (runs.length === 0) screen.line('  No runs yet.')
      else
        printRuns(await runOverviews(runs, context), { now: context.deps.clock.now(), out: screen, isOneAgent: true })
      screen.line(screen.look.paint.dim(`  \`${commandLine('runs show RUN')}\` shows the events of a run.`))
      return undefined
    },
  },
}

async function printConversations(chat: ChatSession): Promise<undefined> {
  const { screen, context, conversation: current } = chat
  const { paint, width } = screen.look
  const listed = await readConversations(chat)
  chat.listed = listed
  const now = context.deps.clock.now()
  for (const [index, { conversation, title }] of listed.entries()) {
    const mark = conversation.id === current.id ? paint.green('●') : ' '
    const facts = `${shortId(conversation.id)}  ${ageText(now - spokenAt(conversation)).padStart(7)} ago`
    const number = `${index + 1}`.padStart(3)
    const room = Math.max(10, width - number.length - facts.length - 7)
    screen.line(`${mark}${paint.bold(number)}  ${paint.dim(facts)}  ${cutToWidth(safeName(title), room)}`)
  }
  screen.line(paint.dim(`  ${count(listed.length, 'conversation')}. /switch N continues one of them.`))
  return undefined
}

async function switchConversation(which: string, chat: ChatSession): Promise<CommandOutcome | undefined> {
  if (which === '') {
    await printConversations(chat)
    return undefined
  }
  // The numbers are those that the user saw.
  const wanted = requireListed(which, chat.listed ?? (await readConversations(chat)))
  if (wanted.id === chat.conversation.id) {
    chat.screen.line('  This is that conversation.')
    return undefined
  }
  if (await waitsForApproval(chat))
    chat.screen.line(
      `  The approval in the old conversation stays open: /switch ${shortId(chat.conversation.id)} returns to it.`,
    )
  moveTo(wanted, chat)
  await printLastMessages(chat)
  const outcome = await resumeUnfinished(chat)
  await markRunsShown(chat)
  return outcome === 'leave' ? 'leave' : 'go-on'
}

async function waitsForApproval({ conversation, context }: ChatSession): Promise<boolean> {
  return (await listRuns({ conversationId: conversation.id, waiting: true }, 1, context)).length > 0
}

/** What is queued stays in the conversation that is left; returning to it continues there. */
function moveTo(conversation: Conversation, chat: ChatSession): void {
  chat.conversation = conversation
  chat.shownRuns.clear()
  chat.steered = []
  chat.queued = []
  chat.status.showQueued([])
}

/** The end of a conversation that is resumed. */
export async function printLastMessages(chat: ChatSession): Promise<void> {
  const { context, conversation, screen } = chat
  const messages = await listMessages(conversation.id, { limit: SHOWN_MESSAGES, take: 'newest' }, context)
  const { look } = screen
  for (const message of messages) printMessage(message, chat)
  if (messages.length > 0) screen.line(look.paint.dim('─'.repeat(Math.min(look.width, MAX_RULE))))
}

/** A stored message as it looked when it was new, the Markdown of answers included. */
function printMessage(message: Message, { screen, answers, finish }: ChatSession): void {
  const { body } = message
  if (body.role !== 'assistant') {
    for (const line of renderMessage(message, screen.look)) screen.line(line)
    return
  }
  const text = safeText(textOf(body.content)).trimEnd()
  if (text !== '') answers.line(text)
  finish()
  for (const line of renderMessage({ ...message, body: { ...body, content: [] } }, screen.look)) screen.line(line)
}
