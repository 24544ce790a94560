import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { cleanName } from '../../core/mcp-tools.ts'
import { textOf } from '../../core/message.ts'
import type { Run } from '../../core/run.ts'
import { requireConversation } from '../conversations/conversations.ts'
import { sendMessage } from '../messages/send-message.ts'
import { showRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import type { ServiceContext } from '../service-context.ts'
import { searchAgents } from './agents.ts'

/** An agent as a tool of other programs. */
type AgentTool = { name: string; agent: Agent }

const MOST_AGENTS = 1_000

/** Names that models accept; agents whose names look alike have the end of their id, too. */
export async function agentsAsTools(context: ServiceContext): Promise<AgentTool[]> {
  const agents = await searchAgents({}, { limit: MOST_AGENTS, order: 'asc' }, context)
  const counts = new Map<string, number>()
  for (const { name } of agents) counts.set(cleanName(name), (counts.get(cleanName(name)) ?? 0) + 1)
  return agents.map((agent) => {
    const name = cleanName(agent.name)
    return { agent, name: counts.get(name) === 1 ? name : `${name.slice(0, 50)}_${agent.id.slice(-8)}` }
  })
}

type Question = {
  message: string
  /** A conversation of the agent; without one its default. */
  conversationId?: string
  /** A repeat with the same key attaches to the first run. */
  key?: string
}

export type AgentReply = { run: Run; text: string }

/** One turn of an agent. It goes on when the caller leaves. */
export async function askAgent(
  agent: Agent,
  { message, conversationId, key }: Question,
  { context, signal }: { context: ServiceContext; signal: AbortSignal },
): Promise<AgentReply> {
  const conversation = await requireConversation(agent, conversationId, context)
  const { runId } = await sendMessage(
    {
      agent,
      conversationId: conversation.id,
      conversation,
      content: [{ type: 'text', text: message }],
      metadata: { run_type: 'mcp' },
      ...defined({ otid: key }),
    },
    context,
  )
  const run = await waitForRun(runId, context, signal)
  return { run, text: await saidIn(runId, context) }
}

/** What the agent said in its run: its texts, and those of `send_message`. */
async function saidIn(runId: RunId, context: ServiceContext): Promise<string> {
  const { messages } = await showRun(runId, context)
  return messages
    .flatMap(({ body }) => {
      if (body.role !== 'assistant') return []
      const spoken = body.calls.flatMap(({ isSpeech, input }) =>
        isSpeech ? [String((input as { message?: unknown }).message ?? '')] : [],
      )
      return [textOf(body.content), ...spoken]
    })
    .filter((text) => text.trim() !== '')
    .join('\n')
}
