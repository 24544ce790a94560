import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import { isOperator } from '../../../core/people.ts'
import type { OpenedPage, ProcessOutput, ProcessState, WorkspaceQuota } from '../../../ports/workspaces.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import type { ListedWorkspace } from '../../../service/workspaces/workspaces.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

const endingSchema = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('exited'), code: z.int() }).describe('The process ended by itself.'),
    z
      .object({
        type: z.literal('killed'),
        signal: z.string(),
        why: z
          .enum(['asked', 'cancelled', 'timed-out', 'removed'])
          .optional()
          .describe('Why Holdfast ended it; absent when the signal came from inside the workspace.'),
      })
      .describe('A signal ended the process.'),
    z
      .object({ type: z.literal('over-limit'), limit: z.enum(['processes', 'memory', 'disk']) })
      .describe('The process went over the quota of its workspace.'),
    z.object({ type: z.literal('lost') }).describe('The machine or the sandbox stopped while the process was running.'),
  ]),
)

export const processSchema = z
  .object({
    id: z.string(),
    command: z.string(),
    run_id: z.string().describe('Run that started the process.'),
    background: z.boolean().describe('Whether the agent continues without waiting for the process.'),
    started_at: dateSchema,
    ended_at: dateSchema.nullable().describe('When the process ended; null while it runs.'),
    ending: endingSchema.nullable().describe('How the process ended; null while it runs.'),
    output_bytes: z.int().describe('Bytes of standard output and standard error that are stored.'),
  })
  .meta({ id: 'Process', description: 'A command in a workspace.' })

export type WireProcess = z.output<typeof processSchema>

export const wireProcess = (process: ProcessState): WireProcess => ({
  id: process.processId,
  command: process.command,
  run_id: process.runId,
  background: process.background,
  started_at: wireDate(process.startedAt),
  ended_at: process.endedAt === undefined ? null : wireDate(process.endedAt),
  ending: process.ending ?? null,
  output_bytes: process.outputBytes,
})

export const outputSchema = z.lazy(() =>
  z.object({
    text: z.string(),
    from: z.int().describe('First byte of the page.'),
    next: z.int().describe('Where the next page begins.'),
    total: z.int().describe('Bytes that are stored in total.'),
    dropped: z.int().describe('Bytes that the process wrote and that are no longer stored.'),
  }),
)

export const wireOutput = ({ text, from, next, total, dropped }: ProcessOutput): z.output<typeof outputSchema> => ({
  text,
  from,
  next,
  total,
  dropped,
})

export const processPageSchema = processSchema
  .extend({ output: outputSchema.describe('A page of what the process wrote.') })
  .meta({ id: 'ProcessPage', description: 'A command in a workspace with a page of its output.' })

type ShownProcess = { process: ProcessState; output: ProcessOutput }

export const wireProcessPage = ({ process, output }: ShownProcess): z.output<typeof processPageSchema> => ({
  ...wireProcess(process),
  output: wireOutput(output),
})

const amountsSchema = z.lazy(() => z.object({ disk_bytes: z.int(), memory_bytes: z.int(), processes: z.int() }))

const portSchema = z.lazy(() =>
  z.object({
    port: z.int(),
    process_id: z.string().nullable().describe('The process that listens; null if its command is unknown.'),
  }),
)

export const pageSchema = z
  .object({
    id: z.string(),
    url: z.string().describe('Opens the page once, in a browser on the machine of the server.'),
    port: z.int().describe('Port inside the workspace.'),
    expires_at: dateSchema.describe('When the page stops to answer; it also ends with the server.'),
  })
  .meta({ id: 'WorkspacePage', description: 'A port of a workspace that a browser can open.' })

export const wirePage = ({ pageId, url, port, expiresAt }: OpenedPage): z.output<typeof pageSchema> => ({
  id: pageId,
  url,
  port,
  expires_at: wireDate(expiresAt),
})

export const workspaceSchema = z.lazy(() =>
  z
    .object({
      conversation_id: z.string(),
      agent_id: z.string(),
      agent_name: z.string(),
      organization_id: z.string(),
      is_default: z.boolean().describe('Whether it belongs to the default conversation of the agent.'),
      status: z.enum(['awake', 'asleep']).describe('`asleep` runs nothing and wakes when it is used.'),
      containment: z.enum(['bubblewrap', 'local']).describe('What isolates the workspace; `local` means no isolation.'),
      created_at: dateSchema,
      folder: z.string().optional().describe('Folder on the machine; shown to operators only.'),
      quota: amountsSchema.describe('Limits of the workspace.'),
      usage: amountsSchema.nullable().describe('What the workspace uses; null while it is asleep.'),
      ports: z
        .array(portSchema)
        .nullable()
        .describe('Ports on which processes of the workspace listen; null while it is asleep.'),
      processes: z.array(processSchema).nullable().describe('Processes of the workspace; null while it is asleep.'),
    })
    .meta({ id: 'Workspace', description: 'Terminal, processes and files of a conversation.' }),
)

export type WireWorkspace = z.output<typeof workspaceSchema>

export const wireWorkspace = (
  { agent, conversation, state }: ListedWorkspace,
  context: ServiceContext,
): WireWorkspace => ({
  conversation_id: conversation.id,
  agent_id: agent.id,
  agent_name: agent.name,
  organization_id: conversation.organizationId,
  is_default: conversation.isDefault,
  status: state.status,
  containment: state.containment,
  created_at: wireDate(state.createdAt),
  // Only operators see paths on the machine.
  ...defined({ folder: isOperator(context.caller) ? state.folder : undefined }),
  quota: wireAmounts(state.quota),
  // Listing does not wake a workspace that is asleep.
  usage: 'usage' in state ? wireAmounts(state.usage) : null,
  ports: 'usage' in state ? state.ports.map(({ port, processId }) => ({ port, process_id: processId })) : null,
  processes: 'usage' in state ? state.processes.map(wireProcess) : null,
})

const wireAmounts = ({ diskBytes, memoryBytes, processes }: WorkspaceQuota): z.output<typeof amountsSchema> => ({
  disk_bytes: diskBytes,
  memory_bytes: memoryBytes,
  processes,
})
