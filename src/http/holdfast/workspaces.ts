import { z } from 'zod'
import { parseId } from '../../core/id.ts'
import { isOperator } from '../../core/people.ts'
import type { OutputRange, ProcessOutput, ProcessState, WorkspaceQuota } from '../../ports/workspaces.ts'
import type { Desk } from '../../service/desk.ts'
import {
  endProcess,
  type ListedWorkspace,
  listWorkspaces,
  removeWorkspace,
  showProcess,
  showWorkspace,
} from '../../service/workspaces/workspaces.ts'
import { refuse } from '../letta/errors.ts'
import { idIn, limit, parsed } from '../letta/parse.ts'
import { wireDate } from '../letta/wire/message.ts'
import type { Routes } from '../routes.ts'

const WORKSPACE = '/v1/workspaces/:conversation_id'
const PROCESS = `${WORKSPACE}/processes/:process_id`

/** A page of output; more is asked for from `next` on. */
const USUAL_BYTES = 65_536
const MOST_BYTES = 1_048_576

/** Where agents work, one for each conversation that has used one. */
export function registerWorkspaceRoutes(routes: Routes): void {
  routes.get(
    '/v1/workspaces',
    async ({ query }, desk) => {
      const { agent_id, after, limit: size } = parsed(workspaceQuery, query, 'query')
      const agentId = agent_id === undefined ? undefined : idIn.agent({ agent_id })
      const last = after === undefined ? undefined : (parseId('conv', after) ?? refuseAfter(after))
      const asked = { limit: size, ...(agentId ? { agentId } : {}), ...(last ? { after: last } : {}) }
      return (await listWorkspaces(asked, desk)).map((one) => wireWorkspace(one, desk))
    },
    { summary: 'Workspaces of conversations: what they use, and what runs in them', query: workspaceQuery },
  )

  routes.get(
    WORKSPACE,
    async ({ params }, desk) => wireWorkspace(await showWorkspace(idIn.conversation(params), desk), desk),
    { summary: 'A workspace: its state, use, limits and processes' },
  )

  routes.delete(
    WORKSPACE,
    async ({ params }, desk) => {
      await removeWorkspace(idIn.conversation(params), desk)
      return null
    },
    { summary: 'Removes a workspace for good: its processes end, its files are gone' },
  )

  routes.get(
    PROCESS,
    async ({ params, query }, desk) => {
      const range = rangeOf(parsed(outputQuery, query, 'query'))
      const { process, output } = await showProcess({ ...placeOf(params), range }, desk)
      return { ...wireProcess(process), output: wireOutput(output) }
    },
    { summary: 'A process and a page of what it wrote; the next page begins at `next`', query: outputQuery },
  )

  routes.delete(PROCESS, async ({ params }, desk) => wireProcess(await endProcess(placeOf(params), desk)), {
    summary: 'Ends a process with everything it started; how it ended',
  })
}

const workspaceQuery = z.object({ agent_id: z.string().optional(), after: z.string().optional(), limit: limit(50) })

const outputQuery = z.object({
  /** In bytes, from 0 on. */
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  limit: limit(USUAL_BYTES, MOST_BYTES),
  /** Instead of `from`: the last bytes. */
  last: z.coerce.number().int().min(1).max(MOST_BYTES).optional(),
})

const rangeOf = ({ from, limit: size, last }: z.output<typeof outputQuery>): OutputRange =>
  from === undefined && last !== undefined ? { last } : { from: from ?? 0, limit: size }

function placeOf(params: unknown) {
  const { process_id: processId } = params as { process_id: string }
  return { conversationId: idIn.conversation(params), processId }
}

function refuseAfter(text: string): never {
  throw refuse(422, `query.after: must be the id of a conversation, not "${text.slice(0, 80)}"`)
}

const wireWorkspace = ({ agent, conversation, state }: ListedWorkspace, desk: Desk) => ({
  ...{ conversation_id: conversation.id, agent_id: agent.id, agent_name: agent.name },
  ...{ organization_id: conversation.organizationId, is_default: conversation.isDefault },
  ...{ status: state.status, containment: state.containment, created_at: wireDate(state.createdAt) },
  // Where it lies on the machine is of use to those who can go there.
  ...(isOperator(desk.caller) ? { folder: state.folder } : {}),
  quota: wireAmounts(state.quota),
  // One that sleeps is not woken to be listed.
  usage: 'usage' in state ? wireAmounts(state.usage) : null,
  processes: 'usage' in state ? state.processes.map(wireProcess) : null,
})

const wireAmounts = ({ diskBytes, memoryBytes, processes }: WorkspaceQuota) => ({
  ...{ disk_bytes: diskBytes, memory_bytes: memoryBytes, processes },
})

const wireProcess = (process: ProcessState) => ({
  ...{ id: process.processId, command: process.command, run_id: process.runId, background: process.background },
  ...{ started_at: wireDate(process.startedAt) },
  ended_at: process.endedAt === undefined ? null : wireDate(process.endedAt),
  ...{ ending: process.ending ?? null, output_bytes: process.outputBytes },
})

const wireOutput = ({ text, from, next, total, dropped }: ProcessOutput) => ({ text, from, next, total, dropped })
