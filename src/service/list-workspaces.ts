import type { Agent } from '../core/agent.ts'
import type { AgentId, ConversationId } from '../core/id.ts'
import type { WorkspaceGlance, WorkspaceState, Workspaces } from '../ports/workspaces.ts'
import type { Desk } from './desk.ts'
import { requireWorkspaces, type ShownWorkspace, telling } from './workspace-desk.ts'

export type ListedWorkspace = ShownWorkspace<WorkspaceState | WorkspaceGlance>

export type WorkspaceQuestion = {
  agentId?: AgentId
  limit: number
  /** The conversation of the last one seen. */
  after?: ConversationId
}

/** Those of the caller's own conversations, by conversation. Looking wakes none of them. */
export async function listWorkspaces(
  { agentId, limit, after }: WorkspaceQuestion,
  desk: Desk,
): Promise<ListedWorkspace[]> {
  const { agents, conversations } = desk.world.store
  const workspaces = requireWorkspaces(desk)
  const known = new Map<AgentId, Agent | undefined>()
  const found: ListedWorkspace[] = []
  for (const id of (await telling(workspaces.list())).sort()) {
    if (found.length === limit) break
    if (after !== undefined && id <= after) continue
    const conversation = await conversations.get(desk.organizationId, id)
    if (!conversation || (agentId !== undefined && conversation.agentId !== agentId)) continue
    const { agentId: owner } = conversation
    if (!known.has(owner)) known.set(owner, await agents.get(desk.organizationId, owner))
    const agent = known.get(owner)
    const state = await telling(stateOf(id, workspaces))
    if (agent && state) found.push({ agent, conversation, state })
  }
  return found
}

/** What runs and ran in one is told of those that are awake. */
async function stateOf(id: ConversationId, workspaces: Workspaces): Promise<ListedWorkspace['state'] | undefined> {
  const seen = await workspaces.glance(id)
  return seen?.status === 'asleep' ? seen : workspaces.inspect(id)
}
