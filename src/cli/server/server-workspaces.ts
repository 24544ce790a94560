import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import type { Containment, ProcessEnding, ProcessOutput, ProcessState, WorkspaceState } from '../../ports/workspaces.ts'
import type { ShownWorkspace, WorkspaceVerbs } from '../workspace-verbs.ts'
import type { ServerConnection } from './server-connection.ts'

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

type WirePage = { id: string; url: string; port: number; expires_at: string }

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
  ports: { port: number; process_id: string | null }[] | null
  processes: WireProcess[] | null
}

/** Workspace verbs that the server of the home carries out. */
export function serverWorkspaceVerbs({ request }: Pick<ServerConnection, 'request'>): WorkspaceVerbs {
  const pathOf = (id: string, processId?: string) =>
    `/v1/workspaces/${id}${processId === undefined ? '' : `/processes/${encodeURIComponent(processId)}`}`
  return {
    async list({ limit, after }) {
      const query = new URLSearchParams({ limit: String(limit), ...defined({ after: after || undefined }) })
      return (await request<WireWorkspace[]>('GET', `/v1/workspaces?${query}`)).map(workspaceOf)
    },
    show: async (id) => workspaceOf(await request<WireWorkspace>('GET', pathOf(id))),
    async remove(id) {
      await request('DELETE', pathOf(id))
    },
    async process({ conversationId, processId, range }) {
      const query = new URLSearchParams(
        Object.entries(range).map(([key, value]): [string, string] => [key, `${value}`]),
      )
      type Answer = WireProcess & { output: ProcessOutput }
      const { output, ...process } = await request<Answer>('GET', `${pathOf(conversationId, processId)}?${query}`)
      return { process: processOf(process), output }
    },
    async openPage({ conversationId, port, minutes }) {
      const body = { minutes, ...defined({ port }) }
      const page = await request<WirePage>('POST', `${pathOf(conversationId)}/pages`, body)
      return { pageId: page.id, url: page.url, port: page.port, expiresAt: Date.parse(page.expires_at) }
    },
    async closePage({ conversationId, pageId }) {
      await request('DELETE', `${pathOf(conversationId)}/pages/${pageId}`)
    },
    end: async ({ conversationId, processId }) =>
      processOf(await request<WireProcess>('DELETE', pathOf(conversationId, processId))),
  }
}

const workspaceOf = (wire: WireWorkspace): ShownWorkspace => ({
  agent: { id: wire.agent_id, name: wire.agent_name },
  state: {
    conversationId: wire.conversation_id,
    status: wire.status,
    containment: wire.containment,
    ...defined({ folder: wire.folder }),
    createdAt: Date.parse(wire.created_at),
    quota: amountsOf(wire.quota),
    ...defined({
      usage: wire.usage ? amountsOf(wire.usage) : undefined,
      ports: wire.ports ? wire.ports.map(({ port, process_id: processId }) => ({ port, processId })) : undefined,
      processes: wire.processes ? wire.processes.map(processOf) : undefined,
    }),
  },
})

const amountsOf = ({ disk_bytes: diskBytes, memory_bytes: memoryBytes, processes }: WireAmounts) => ({
  diskBytes,
  memoryBytes,
  processes,
})

const processOf = (wire: WireProcess): ProcessState => ({
  // The API does not return the idempotency key, and the CLI does not print it.
  processId: wire.id,
  key: '',
  command: wire.command,
  runId: wire.run_id,
  background: wire.background,
  startedAt: Date.parse(wire.started_at),
  ...defined({
    endedAt: wire.ended_at === null ? undefined : Date.parse(wire.ended_at),
    ending: wire.ending ?? undefined,
  }),
  outputBytes: wire.output_bytes,
})
