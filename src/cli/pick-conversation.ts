import type { Agent, Conversation } from '../core/agent.ts'
import { Problem } from '../core/problem.ts'
import { requireAgent } from '../service/agents/agents.ts'
import {
  listConversations,
  requireConversation,
  requireConversationAndAgent,
} from '../service/conversations/conversations.ts'
import { listRuns } from '../service/runs/runs.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { completedId } from '../service/short-id.ts'

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

/**
 * A conversation by its id or the beginning of it. The name or id of an agent stands for its last conversation.
 */
export async function requireConversationNamed(
  which: string,
  context: ServiceContext,
): Promise<{ agent: Agent; conversation: Conversation }> {
  // A name that looks like the beginning of an id is a name first.
  const isId = which.startsWith('conv-')
  const agent = isId ? undefined : await agentOrUndefined(which, context)
  if (agent) return { agent, conversation: await lastConversation(agent, context) }
  const id = await completedId('conv', which, context)
  if (id) return requireConversationAndAgent(id, context)
  throw new Problem(
    'not-found',
    `There is no conversation or agent "${which}". \`holdfast conversations\` lists the conversations.`,
  )
}

async function agentOrUndefined(which: string, context: ServiceContext): Promise<Agent | undefined> {
  try {
    return await requireAgent(which, context)
  } catch (fault) {
    if (fault instanceof Problem && fault.kind === 'not-found') return undefined
    throw fault
  }
}
