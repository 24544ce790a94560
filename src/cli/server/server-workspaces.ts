import type { ConversationId, RunId } from '../../core/id.ts'
import type { Containment, ProcessEnding, ProcessOutput, ProcessState, WorkspaceState } from '../../ports/workspaces.ts'
import type { ShownWorkspace, WorkspaceVerbs } from '../workspace-verbs.ts'
import type { ServerLine } from './server-line.ts'

type WireAmounts = { disk_bytes: number; memory_bytes: number; processes: number }

type WireProcess = {
  id: string
  command: string
  run_id: RunId
  background: boolean
  started_at: string
  ended_at: string | null
  ending: ProcessEnding | null
  output_bytes: number
}

type WireWorkspace = {
  conversation_id: ConversationId
  agent_id: string
  agent_name: string
  status: WorkspaceState['status']
  containment: Containment
  created_at: string
  folder?: string
  quota: WireAmounts
  usage: WireAmounts | null
  processes: WireProcess[] | null
}

/** What is asked about workspaces, answered by the server that owns the home. */
export function serverWorkspaceVerbs({ ask }: Pick<ServerLine, 'ask'>): WorkspaceVerbs {
  const pathOf = (id: string, processId?: string) =>
    `/v1/workspaces/${id}${processId === undefined ? '' : `/processes/${encodeURIComponent(processId)}`}`
  return {
    async list({ limit, after }) {
      const query = new URLSearchParams({ limit: String(limit), ...(after ? { after } : {}) })
      return (await ask<WireWorkspace[]>('GET', `/v1/workspaces?${query}`)).map(workspaceOf)
    },
    show: async (id) => workspaceOf(await ask<WireWorkspace>('GET', pathOf(id))),
    async remove(id) {
      await ask('DELETE', pathOf(id))
    },
    async process({ conversationId, processId, range }) {
      const query = new URLSearchParams(
        Object.entries(range).map(([key, value]): [string, string] => [key, `${value}`]),
      )
      type Answer = WireProcess & { output: ProcessOutput }
      const { output, ...process } = await ask<Answer>('GET', `${pathOf(conversationId, processId)}?${query}`)
      return { process: processOf(process), output }
    },
    end: async ({ conversationId, processId }) =>
      processOf(await ask<WireProcess>('DELETE', pathOf(conversationId, processId))),
  }
}

const workspaceOf = (wire: WireWorkspace): ShownWorkspace => ({
  agent: { id: wire.agent_id, name: wire.agent_name },
  state: {
    ...{ conversationId: wire.conversation_id, status: wire.status, containment: wire.containment },
    ...(wire.folder === undefined ? {} : { folder: wire.folder }),
    ...{ createdAt: Date.parse(wire.created_at), quota: amountsOf(wire.quota) },
    ...(wire.usage ? { usage: amountsOf(wire.usage) } : {}),
    ...(wire.processes ? { processes: wire.processes.map(processOf) } : {}),
  },
})

const amountsOf = ({ disk_bytes: diskBytes, memory_bytes: memoryBytes, processes }: WireAmounts) => ({
  ...{ diskBytes, memoryBytes, processes },
})

const processOf = (wire: WireProcess): ProcessState => ({
  // The key is between a call and its command; nobody is shown it.
  ...{ processId: wire.id, key: '', command: wire.command, runId: wire.run_id, background: wire.background },
  startedAt: Date.parse(wire.started_at),
  ...(wire.ended_at === null ? {} : { endedAt: Date.parse(wire.ended_at) }),
  ...(wire.ending === null ? {} : { ending: wire.ending }),
  outputBytes: wire.output_bytes,
})
