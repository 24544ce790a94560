import type { Agent, Conversation } from '../core/agent.ts'
import { Problem, type ProblemKind } from '../core/problem.ts'
import {
  type ProcessState,
  type Workspace,
  WorkspaceError,
  type WorkspaceFault,
  type WorkspaceState,
  type Workspaces,
} from '../ports/workspaces.ts'
import type { Desk } from './desk.ts'

/** A workspace and whose it is. */
export type ShownWorkspace<State = WorkspaceState> = { agent: Agent; conversation: Conversation; state: State }

export function requireWorkspaces({ workspaces }: Desk): Workspaces {
  if (workspaces) return workspaces
  throw new Problem('unavailable', 'This process keeps no workspaces.')
}

/** The workspace of a conversation that is known to be the caller's. */
export async function requireWorkspace({ id }: Conversation, desk: Desk): Promise<Workspace> {
  const found = await telling(requireWorkspaces(desk).find(id))
  if (found) return found
  throw noWorkspace(id)
}

export const noWorkspace = (id: string): Problem =>
  new Problem('not-found', `Conversation ${id} has no workspace; one is made when a tool first needs it.`)

export async function requireProcess(workspace: Workspace, processId: string): Promise<ProcessState> {
  const found = await telling(workspace.process(processId))
  if (found) return found
  throw new Problem('not-found', `There is no process "${processId.slice(0, 80)}" in this workspace.`)
}

const KIND_OF_FAULT: Record<WorkspaceFault, ProblemKind> = {
  'missing-sandbox': 'unavailable',
  unavailable: 'unavailable',
  gone: 'not-found',
  'unknown-process': 'not-found',
}

/** What a workspace cannot do, as a caller is told it. */
export async function telling<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (fault) {
    if (fault instanceof WorkspaceError) throw new Problem(KIND_OF_FAULT[fault.fault], fault.message)
    throw fault
  }
}
