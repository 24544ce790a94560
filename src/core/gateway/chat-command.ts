/** The commands of a chat. They do not wait behind messages. */
export const CHAT_COMMANDS = {
  help: 'What I can do',
  new: 'Begin a new conversation',
  stop: 'Stop what I am doing',
  status: 'What I am doing',
  model: 'Show or set the model: provider/model, or default',
  reasoning: 'Show or set how much I reason: low, high, …, or default',
  approve: 'Approve the waiting call',
  deny: 'Deny the waiting call',
  queue: 'What a message does while I work: queue, steer or interrupt',
  link: 'Link your other account: link here, then link CODE there',
  whoami: 'Your id and the id of this chat',
} as const

export type ChatCommandName = keyof typeof CHAT_COMMANDS

export type ChatCommand = { name: ChatCommandName; rest: string }

const ALIASES: Readonly<Record<string, ChatCommandName>> = { start: 'help', reset: 'new', cancel: 'stop' }

/** `/stop`, `/stop@my_bot`, `/model a/b`. A command for another bot, and an unknown one, is a message like any other. */
export function parseCommand(text: string, botName: string | undefined): ChatCommand | undefined {
  const [, word = '', bot, rest = ''] = /^\/([a-zA-Z_]+)(?:@(\w+))?(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  if (bot !== undefined && bot.toLowerCase() !== botName?.toLowerCase()) return undefined
  const known = word.toLowerCase()
  const name = known in CHAT_COMMANDS ? (known as ChatCommandName) : ALIASES[known]
  return name && { name, rest: rest.trim() }
}
