import { listMessages } from '../../service/messages/messages.ts'
import { listRuns } from '../../service/runs/runs.ts'
import { renderMessage } from '../render/message.ts'
import { runLine } from '../render/run.ts'
import type { ChatSession } from './chat-loop.ts'

type SlashCommand = { description: string; run(chat: ChatSession): Promise<'quit' | undefined> }

const MAX_HISTORY = 200

/** The commands of a chat. A line that starts with a slash is never sent to the agent. */
const SLASH_COMMANDS: Record<string, SlashCommand> = {
  help: {
    description: 'Show this list.',
    async run({ screen }) {
      for (const [name, { description }] of Object.entries(SLASH_COMMANDS))
        screen.line(`  /${name.padEnd(10)}${description}`)
      screen.line(`  ${'Ctrl-C'.padEnd(11)}Cancel the running turn; at the prompt, leave the chat.`)
      return undefined
    },
  },
  history: {
    description: 'Show the messages of this conversation.',
    async run({ context, conversation, screen }) {
      const messages = await listMessages(conversation.id, { limit: MAX_HISTORY, take: 'newest' }, context)
      for (const message of messages) for (const line of renderMessage(message, screen.look)) screen.line(line)
      if (messages.length === 0) screen.line('  No messages yet.')
      return undefined
    },
  },
  runs: {
    description: 'Show the runs of this conversation and how they ended.',
    async run({ context, conversation, screen }) {
      const runs = await listRuns({ conversationId: conversation.id }, 20, context)
      const now = context.deps.clock.now()
      for (const run of runs.reverse()) screen.line(`  ${runLine(run, now, screen.look)}`)
      screen.line(screen.look.paint.dim('  `holdfast runs show RUN` shows the events of a run.'))
      return undefined
    },
  },
  new: {
    description: 'Start a new conversation with the same agent.',
    async run(chat) {
      chat.conversation = await chat.verbs.createConversation(chat.agent)
      chat.shownRuns.clear()
      chat.screen.line('  Started a new conversation. The old one is kept.')
      return undefined
    },
  },
  quit: { description: 'Leave the chat (also Ctrl-D).', run: async () => 'quit' },
}

export async function runSlashCommand(line: string, chat: ChatSession): Promise<'quit' | undefined> {
  const name = line.slice(1).trim().split(/\s/)[0] ?? ''
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined
  if (command) return command.run(chat)
  chat.screen.line(`  Unknown command /${name}. /help lists the commands.`)
  return undefined
}
