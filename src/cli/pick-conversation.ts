import type { Agent, Conversation } from '../core/agent.ts'
import { listConversations, requireConversation } from '../service/conversations/conversations.ts'
import { listRuns } from '../service/runs/runs.ts'
import type { ServiceContext } from '../service/service-context.ts'

/** The conversation with an unfinished turn, otherwise the one with the newest message. */
export async function lastConversation(agent: Agent, context: ServiceContext): Promise<Conversation> {
  const all = await listConversations(agent, context)
  const [unfinished] = [
    ...(await listRuns({ agentId: agent.id, statuses: ['running', 'created'] }, 1, context)),
    ...(await listRuns({ agentId: agent.id, waiting: true }, 1, context)),
  ]
  const open = all.find((one) => one.id === unfinished?.conversationId)
  const newest = [...all].sort((a, b) => spokenAt(b) - spokenAt(a))[0]
  return open ?? newest ?? requireConversation(agent, undefined, context)
}

const spokenAt = ({ lastMessageAt, createdAt }: Conversation): number => lastMessageAt ?? createdAt
