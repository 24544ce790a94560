import type { ConversationId } from '../core/id.ts'
import type { OpenedPage, ProcessOutput, ProcessState, WorkspaceState, WorkspaceSummary } from '../ports/workspaces.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { closePage, type OpenPageRequest, openPage } from '../service/workspaces/pages.ts'
import {
  endProcess,
  type ListedWorkspace,
  listWorkspaces,
  removeWorkspace,
  type ShowProcessRequest,
  showProcess,
  showWorkspace,
} from '../service/workspaces/workspaces.ts'

/** A workspace as the CLI prints it. Only the operator of the server sees the folder. */
export type ShownWorkspace = {
  agent: { id: string; name: string }
  /** Usage and processes are present for workspaces that are awake, or were fetched alone. */
  state: Omit<WorkspaceSummary, 'folder'> & { folder?: string } & Partial<
      Pick<WorkspaceState, 'usage' | 'processes' | 'ports'>
    >
}

type ShownProcess = { process: ProcessState; output: ProcessOutput }

export type WorkspaceVerbs = {
  list(page: { limit: number; after?: ConversationId }): Promise<ShownWorkspace[]>
  show(id: ConversationId): Promise<ShownWorkspace>
  remove(id: ConversationId): Promise<void>
  process(question: ShowProcessRequest): Promise<ShownProcess>
  openPage(request: OpenPageRequest): Promise<OpenedPage>
  closePage(page: { conversationId: ConversationId; pageId: string }): Promise<void>
  end(place: { conversationId: ConversationId; processId: string }): Promise<ProcessState>
}

export const localWorkspaceVerbs = (context: ServiceContext): WorkspaceVerbs => ({
  list: async (page) => (await listWorkspaces(page, context)).map(shown),
  show: async (id) => shown(await showWorkspace(id, context)),
  remove: (id) => removeWorkspace(id, context),
  process: (question) => showProcess(question, context),
  openPage: (request) => openPage(request, context),
  closePage: (page) => closePage(page, context),
  end: (place) => endProcess(place, context),
})

const shown = ({ agent, state }: ListedWorkspace): ShownWorkspace => ({
  agent: { id: agent.id, name: agent.name },
  state,
})
