import type { ConversationId } from '../core/id.ts'
import type { ProcessOutput, ProcessState, WorkspaceGlance, WorkspaceState } from '../ports/workspaces.ts'
import type { Desk } from '../service/desk.ts'
import {
  endProcess,
  type ListedWorkspace,
  listWorkspaces,
  type ProcessQuestion,
  removeWorkspace,
  showProcess,
  showWorkspace,
} from '../service/workspaces/workspaces.ts'

/** A workspace as it is shown to people. Its folder is told to those who run the server. */
export type ShownWorkspace = {
  agent: { id: string; name: string }
  /** What runs and ran in one is known of those that are awake, or were looked at by themselves. */
  state: Omit<WorkspaceGlance, 'folder'> & { folder?: string } & Partial<Pick<WorkspaceState, 'usage' | 'processes'>>
}

type ShownProcess = { process: ProcessState; output: ProcessOutput }

export type WorkspaceVerbs = {
  list(page: { limit: number; after?: ConversationId }): Promise<ShownWorkspace[]>
  show(id: ConversationId): Promise<ShownWorkspace>
  remove(id: ConversationId): Promise<void>
  process(question: ProcessQuestion): Promise<ShownProcess>
  end(place: { conversationId: ConversationId; processId: string }): Promise<ProcessState>
}

export const ownWorkspaceVerbs = (desk: Desk): WorkspaceVerbs => ({
  list: async (page) => (await listWorkspaces(page, desk)).map(shown),
  show: async (id) => shown(await showWorkspace(id, desk)),
  remove: (id) => removeWorkspace(id, desk),
  process: (question) => showProcess(question, desk),
  end: (place) => endProcess(place, desk),
})

const shown = ({ agent, state }: ListedWorkspace): ShownWorkspace => ({
  agent: { id: agent.id, name: agent.name },
  state,
})
