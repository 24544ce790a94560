import { listMessages } from '../../service/messages/messages.ts'
import { listRuns } from '../../service/runs/runs.ts'
import { renderMessage } from '../render/message.ts'
import { runLine } from '../render/run.ts'
import type { Talk } from './talk.ts'

type Slash = { what: string; run(talk: Talk): Promise<'quit' | undefined> }

const WHOLE_HISTORY = 200

/** The commands of a chat. A line that starts with a slash is never sent to the agent. */
const SLASHES: Record<string, Slash> = {
  help: {
    what: 'this list',
    async run({ screen }) {
      for (const [name, { what }] of Object.entries(SLASHES)) screen.line(`  /${name.padEnd(10)}${what}`)
      screen.line(`  ${'Ctrl-C'.padEnd(11)}cancels the running turn; at the prompt it leaves`)
      return undefined
    },
  },
  history: {
    what: 'the messages of this conversation',
    async run({ desk, conversation, screen }) {
      const messages = await listMessages(conversation.id, { limit: WHOLE_HISTORY, take: 'newest' }, desk)
      for (const message of messages) for (const line of renderMessage(message, screen.look)) screen.line(line)
      if (messages.length === 0) screen.line('  Nothing yet.')
      return undefined
    },
  },
  runs: {
    what: 'the runs of this conversation and how they ended',
    async run({ desk, conversation, screen }) {
      const runs = await listRuns({ conversationId: conversation.id }, 20, desk)
      const now = desk.world.clock.now()
      for (const run of runs.reverse()) screen.line(`  ${runLine(run, now, screen.look)}`)
      screen.line(screen.look.paint.dim('  holdfast runs show RUN tells the whole story of one.'))
      return undefined
    },
  },
  new: {
    what: 'starts a new conversation with the same agent',
    async run(talk) {
      talk.conversation = await talk.verbs.createConversation(talk.agent)
      talk.told.clear()
      talk.screen.line('  A new conversation. The old one is kept.')
      return undefined
    },
  },
  quit: { what: 'leaves (so does Ctrl-D)', run: async () => 'quit' },
}

export async function runSlash(line: string, talk: Talk): Promise<'quit' | undefined> {
  const name = line.slice(1).trim().split(/\s/)[0] ?? ''
  const slash = Object.hasOwn(SLASHES, name) ? SLASHES[name] : undefined
  if (slash) return slash.run(talk)
  talk.screen.line(`  There is no /${name}. /help lists the commands.`)
  return undefined
}
