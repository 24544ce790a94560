import type { Agent, Conversation } from '../core/agent.ts'
import { listConversations, requireConversation } from '../service/conversations/conversations.ts'
import type { Desk } from '../service/desk.ts'
import { listRuns } from '../service/runs/runs.ts'

/** Where the talk stopped: the conversation with an unfinished turn, or else the one spoken in last. */
export async function lastConversation(agent: Agent, desk: Desk): Promise<Conversation> {
  const all = await listConversations(agent, desk)
  const [unfinished] = [
    ...(await listRuns({ agentId: agent.id, statuses: ['running', 'created'] }, 1, desk)),
    ...(await listRuns({ agentId: agent.id, waiting: true }, 1, desk)),
  ]
  const open = all.find((one) => one.id === unfinished?.conversationId)
  const newest = [...all].sort((a, b) => spokenAt(b) - spokenAt(a))[0]
  return open ?? newest ?? requireConversation(agent, undefined, desk)
}

const spokenAt = ({ lastMessageAt, createdAt }: Conversation): number => lastMessageAt ?? createdAt
