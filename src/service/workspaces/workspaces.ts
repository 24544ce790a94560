import type { Agent, Conversation } from '../../core/agent.ts'
import type { AgentId, ConversationId } from '../../core/id.ts'
import { Problem, type ProblemKind } from '../../core/problem.ts'
import {
  type OutputRange,
  type ProcessOutput,
  type ProcessState,
  type Workspace,
  WorkspaceError,
  type WorkspaceFault,
  type WorkspaceState,
  type WorkspaceSummary,
  type Workspaces,
} from '../../ports/workspaces.ts'
import { requireConversationAndAgent } from '../conversations/conversations.ts'
import { auditStart } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'

export type ListedWorkspace = ShownWorkspace<WorkspaceState | WorkspaceSummary>

type ListWorkspacesRequest = {
  agentId?: AgentId
  limit: number
  /** The cursor: the conversation of the last workspace of the page before. */
  after?: ConversationId
}

/** The workspaces of the caller's conversations, by conversation. Listing wakes none of them. */
export async function listWorkspaces(
  { agentId, limit, after }: ListWorkspacesRequest,
  context: ServiceContext,
): Promise<ListedWorkspace[]> {
  const { agents, conversations } = context.deps.store
  const workspaces = context.workspaces
  const known = new Map<AgentId, Agent | undefined>()
  const found: ListedWorkspace[] = []
  for (const id of (await withWorkspaceProblems(workspaces.list())).sort()) {
    if (found.length === limit) break
    if (after !== undefined && id <= after) continue
    const conversation = await conversations.get(context.organizationId, id)
    if (!conversation || (agentId !== undefined && conversation.agentId !== agentId)) continue
    const { agentId: owner } = conversation
    if (!known.has(owner)) known.set(owner, await agents.get(context.organizationId, owner))
    const agent = known.get(owner)
    const state = await withWorkspaceProblems(readWorkspaceState(id, workspaces))
    if (agent && state) found.push({ agent, conversation, state })
  }
  return found
}

/** Includes the processes of workspaces that are awake. */
async function readWorkspaceState(
  id: ConversationId,
  workspaces: Workspaces,
): Promise<ListedWorkspace['state'] | undefined> {
  const seen = await workspaces.peek(id)
  return seen?.status === 'asleep' ? seen : workspaces.inspect(id)
}

/** State, usage, limits and processes. A workspace of another organization is reported as not found. */
export async function showWorkspace(id: ConversationId, context: ServiceContext): Promise<ShownWorkspace> {
  const { agent, conversation } = await requireConversationAndAgent(id, context)
  const state = await withWorkspaceProblems(context.workspaces.inspect(id))
  if (state) return { agent, conversation, state }
  throw noWorkspace(id)
}

export type ShowProcessRequest = { conversationId: ConversationId; processId: string; range: OutputRange }

/** The state of a process, with a range of its output. */
export async function showProcess(
  { conversationId, processId, range }: ShowProcessRequest,
  context: ServiceContext,
): Promise<{ process: ProcessState; output: ProcessOutput }> {
  const { conversation } = await requireConversationAndAgent(conversationId, context)
  const workspace = await requireWorkspace(conversation, context)
  const process = await requireProcess(workspace, processId)
  return { process, output: await withWorkspaceProblems(workspace.output(processId, range)) }
}

/** Removes files and processes. The conversation stays; its next command gets an empty workspace. */
export async function removeWorkspace(id: ConversationId, context: ServiceContext): Promise<void> {
  await requireConversationAndAgent(id, context)
  // The log has what was begun: without a workspace nothing is.
  if (!(await withWorkspaceProblems(context.workspaces.peek(id)))) throw noWorkspace(id)
  await auditStart({ verb: 'workspace.remove', object: id }, context)
  if (!(await withWorkspaceProblems(context.workspaces.remove(id)))) throw noWorkspace(id)
}

type EndProcessRequest = { conversationId: ConversationId; processId: string }

/** Ends a process with SIGTERM, then SIGKILL, and resolves with its end. A process that has ended is left alone. */
export async function endProcess(
  { conversationId, processId }: EndProcessRequest,
  context: ServiceContext,
): Promise<ProcessState> {
  const { conversation } = await requireConversationAndAgent(conversationId, context)
  const workspace = await requireWorkspace(conversation, context)
  const process = await requireProcess(workspace, processId)
  if (process.ending) return process
  await auditStart({ verb: 'process.end', object: conversationId }, context)
  return withWorkspaceProblems(workspace.kill(processId, 'asked'))
}

/** A workspace with its agent and conversation. */
export type ShownWorkspace<State = WorkspaceState> = { agent: Agent; conversation: Conversation; state: State }

/** The caller has checked that the conversation belongs to the organization. */
async function requireWorkspace({ id }: Conversation, context: ServiceContext): Promise<Workspace> {
  const found = await withWorkspaceProblems(context.workspaces.find(id))
  if (found) return found
  throw noWorkspace(id)
}

export const noWorkspace = (id: string): Problem =>
  new Problem('not-found', `Conversation ${id} has no workspace. It is created when a tool first needs it.`)

async function requireProcess(workspace: Workspace, processId: string): Promise<ProcessState> {
  const found = await withWorkspaceProblems(workspace.process(processId))
  if (found) return found
  throw new Problem('not-found', `There is no process "${processId.slice(0, 80)}" in this workspace.`)
}

const KIND_OF_FAULT: Record<WorkspaceFault, ProblemKind> = {
  'missing-sandbox': 'unavailable',
  'over-share': 'queue-full',
  'missing-program': 'unavailable',
  unavailable: 'unavailable',
  gone: 'not-found',
  'unknown-process': 'not-found',
}

/** Converts errors of workspaces to problems for the caller. */
export async function withWorkspaceProblems<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (fault) {
    if (fault instanceof WorkspaceError) throw new Problem(KIND_OF_FAULT[fault.fault], fault.message)
    throw fault
  }
}
