import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { OutputRange } from '../../ports/workspaces.ts'
import {
  endProcess,
  listWorkspaces,
  removeWorkspace,
  showProcess,
  showWorkspace,
} from '../../service/workspaces/workspaces.ts'
import { id, limit } from '../field.ts'
import { operation } from '../operation.ts'
import {
  processPageSchema,
  processSchema,
  wireProcess,
  wireProcessPage,
  wireWorkspace,
  workspaceSchema,
} from './wire/workspace.ts'

/** A page of output; the next one begins at `next`. */
const DEFAULT_BYTES = 65_536
const MAX_BYTES = 1_048_576

const workspacePath = { conversation_id: id('conv').describe('The conversation whose workspace it is.') }
const processPath = { ...workspacePath, process_id: z.string().describe('The id of a process.') }

const listWorkspacesOperation = operation({
  route: 'GET /v1/workspaces',
  scope: 'read',
  summary: 'Lists the workspaces of conversations: what they use, and what runs in them',
  query: z.object({
    agent_id: id('agent').optional().describe('Workspaces of this agent only.'),
    after: id('conv').optional().describe('The conversation of the last workspace of the page before.'),
    limit: limit(50),
  }),
  answer: z.array(workspaceSchema),
  async handle({ query: { agent_id, after, limit: size } }, context) {
    const asked = { limit: size, ...defined({ agentId: agent_id || undefined, after: after || undefined }) }
    return (await listWorkspaces(asked, context)).map((one) => wireWorkspace(one, context))
  },
})

const showWorkspaceOperation = operation({
  route: 'GET /v1/workspaces/:conversation_id',
  scope: 'read',
  summary: 'Shows a workspace: its state, use, limits and processes',
  params: workspacePath,
  answer: workspaceSchema,
  handle: async ({ params }, context) => wireWorkspace(await showWorkspace(params.conversation_id, context), context),
})

/** An administrator's, because the files cannot be recovered. */
const removeWorkspaceOperation = operation({
  route: 'DELETE /v1/workspaces/:conversation_id',
  scope: 'admin',
  summary: 'Removes a workspace for good: ends its processes and deletes its files',
  audit: 'by-verb',
  params: workspacePath,
  answer: z.null(),
  async handle({ params }, context) {
    await removeWorkspace(params.conversation_id, context)
    return null
  },
})

const outputQuery = z.object({
  from: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Where the page begins, in bytes from 0.'),
  limit: limit(DEFAULT_BYTES, MAX_BYTES),
  last: z.coerce.number().int().min(1).max(MAX_BYTES).optional().describe('Instead of `from`: the last bytes.'),
})

const showProcessOperation = operation({
  route: 'GET /v1/workspaces/:conversation_id/processes/:process_id',
  scope: 'read',
  summary: 'Shows a process and a page of its output; the next page begins at `next`',
  params: processPath,
  query: outputQuery,
  answer: processPageSchema,
  async handle({ params: { conversation_id, process_id }, query }, context) {
    const asked = { conversationId: conversation_id, processId: process_id, range: rangeOf(query) }
    return wireProcessPage(await showProcess(asked, context))
  },
})

const endProcessOperation = operation({
  route: 'DELETE /v1/workspaces/:conversation_id/processes/:process_id',
  scope: 'agent',
  summary: 'Ends a process with everything it started, and shows how it ended',
  audit: 'by-verb',
  params: processPath,
  answer: processSchema,
  handle: async ({ params: { conversation_id, process_id } }, context) =>
    wireProcess(await endProcess({ conversationId: conversation_id, processId: process_id }, context)),
})

export const workspaceOperations = [
  listWorkspacesOperation,
  showWorkspaceOperation,
  removeWorkspaceOperation,
  showProcessOperation,
  endProcessOperation,
]

const rangeOf = ({ from, limit: size, last }: z.output<typeof outputQuery>): OutputRange =>
  from === undefined && last !== undefined ? { last } : { from: from ?? 0, limit: size }
