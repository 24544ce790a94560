import { type Term, termLines } from '../render/terms.ts'
import type { ChatSession, CommandOutcome } from './chat-session.ts'
import type { Completion } from './completion.ts'
import { CONVERSATION_COMMANDS } from './conversation-commands.ts'
import { exportConversation } from './export-conversation.ts'
import { SETTING_COMMANDS } from './setting-commands.ts'
import type { SlashCommand } from './slash-command.ts'
import { TURN_COMMANDS } from './turn-commands.ts'

/** The commands of a chat. A line that starts with a slash is never sent to the agent. */
const SLASH_COMMANDS: Record<string, SlashCommand> = {
  help: { description: 'Show this list.', run: async (_, chat) => printHelp(chat) },
  ...CONVERSATION_COMMANDS,
  export: {
    usage: '[file]',
    description: 'Write this conversation to a file as Markdown.',
    run: exportConversation,
  },
  ...SETTING_COMMANDS,
  ...TURN_COMMANDS,
  quit: { description: 'Leave the chat (also Ctrl-D).', run: async () => 'quit' },
}

const KEYS: readonly Term[] = [
  ['Enter', 'Send. The turn of a message that is sent while another turn runs follows that turn.'],
  ['Ctrl-J, Alt-Enter', 'Begin a new line. So does a backslash at the end of the line.'],
  ['Ctrl-C', 'Cancel the running turn; twice leaves it to go on. At the prompt: leave the chat.'],
  ['Up, Down', 'Bring back what was sent before.'],
  ['Tab', 'Complete a command.'],
]

export async function runSlashCommand(line: string, chat: ChatSession): Promise<CommandOutcome> {
  const [, name = '', words = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim()) ?? []
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined
  const { screen } = chat
  if (!command) screen.line(`  Unknown command /${name}. /help lists the commands.`)
  else if (chat.current && command.notDuringTurn)
    screen.line(`  A turn is running, so /${name} has to wait. /stop cancels the turn.`)
  else return (await command.run(words.trim(), chat)) ?? 'go-on'
  return 'go-on'
}

/** The words that may stand at the end of a line that begins with a slash. */
export async function completeCommand(line: string, chat: ChatSession): Promise<Completion> {
  const space = line.indexOf(' ')
  if (!line.startsWith('/') || line.includes('\n')) return { from: line.length, words: [] }
  if (space === -1) return { from: 1, words: Object.keys(SLASH_COMMANDS) }
  const command = SLASH_COMMANDS[line.slice(1, space)]
  return { from: space + 1, words: (await command?.complete?.(chat)) ?? [] }
}

async function printHelp({ screen, isLive }: ChatSession): Promise<undefined> {
  const { look } = screen
  const { bold } = look.paint
  const names = Object.entries(SLASH_COMMANDS).map(
    ([name, { usage, description }]): Term => [`${bold(`/${name}`)}${usage ? ` ${usage}` : ''}`, description],
  )
  for (const line of termLines(names, look)) screen.line(line)
  // Lines of a pipe have no keys.
  if (!isLive) return undefined
  screen.line()
  for (const line of termLines(
    KEYS.map(([key, text]): Term => [bold(key), text]),
    look,
  ))
    screen.line(line)
  return undefined
}
