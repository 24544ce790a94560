import type { Agent } from '../../core/agent.ts'
import { chatSettingsOf } from '../../core/gateway/access.ts'
import type { Chat } from '../../core/gateway/incoming.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import { Problem } from '../../core/problem.ts'
import { listAgents, requireAgent } from '../agents/agents.ts'
import { createAgent } from '../agents/create-agent.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * The agent of a chat: the one of the chat or of the account, else the oldest one, which is created if there is none.
 * Undefined: the configured one does not exist.
 */
export async function agentOfChat(
  chat: Chat,
  settings: AccountSettings,
  context: ServiceContext,
): Promise<Agent | undefined> {
  const named = chatSettingsOf(settings, chat)?.agent ?? settings.agent
  if (named !== undefined) return findAgentNamed(named, context)
  // Newest first.
  const oldest = (await listAgents(context)).at(-1)
  return oldest ?? createAgent({ name: 'assistant' }, context)
}

async function findAgentNamed(name: string, context: ServiceContext): Promise<Agent | undefined> {
  try {
    return await requireAgent(name, context)
  } catch (fault) {
    if (fault instanceof Problem) return undefined
    throw fault
  }
}
