import { createInterface } from 'node:readline'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { CliContext } from '../cli-context.ts'
import { agentOrFirst } from '../first-agent.ts'
import { withHome } from '../home-session.ts'
import { lastConversation, requireConversationNamed } from '../pick-conversation.ts'
import { onSignals } from '../signals.ts'
import { runResultJson } from './run.ts'

type ChatFlags = { agent?: string; new?: boolean; conversation?: string }

/** `chat --json`: each line of input is a turn, and each turn is one line of JSON. For programs that keep a chat open. */
export const chatLines = (flags: ChatFlags, cli: CliContext): Promise<number> =>
  withHome(cli, 'turns', async (session) => {
    const { context, verbs } = session
    const named =
      flags.conversation === undefined ? undefined : await requireConversationNamed(flags.conversation, context)
    const agent = named ? named.agent : await agentOrFirst(flags.agent, session)
    const conversation =
      named?.conversation ?? (await (flags.new ? verbs.createConversation(agent) : lastConversation(agent, context)))
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    const forget = onSignals({ interrupt: leave, terminate: leave })
    try {
      for await (const line of createInterface({ input: process.stdin, signal: leaving.signal })) {
        const text = line.trim()
        if (text === '') continue
        const conversationId = conversation.id
        const { runId } = await verbs.send({ agent, conversationId, text, onGuarded: 'ask', streamTokens: false })
        const ended = await waitForRun(runId, context, leaving.signal)
        cli.out.line(JSON.stringify(await runResultJson(ended, context)))
      }
      return 0
    } finally {
      forget()
    }
  })
