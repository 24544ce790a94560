import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { OutputRange } from '../../ports/workspaces.ts'
import { closePage, openPage } from '../../service/workspaces/pages.ts'
import { listFiles, readContent } from '../../service/workspaces/workspace-files.ts'
import {
  endProcess,
  listWorkspaces,
  removeWorkspace,
  showProcess,
  showWorkspace,
} from '../../service/workspaces/workspaces.ts'
import { flag, id, limit } from '../field.ts'
import { operation } from '../operation.ts'
import {
  pageSchema,
  processPageSchema,
  processSchema,
  wirePage,
  wireProcess,
  wireProcessPage,
  wireWorkspace,
  workspaceSchema,
} from './wire/workspace.ts'
import { contentSchema, folderSchema, wireContent, wireFolder } from './wire/workspace-files.ts'

/** Size of a page of output. */
const DEFAULT_BYTES = 65_536
const MAX_BYTES = 1_048_576

const workspacePath = { conversation_id: id('conv').describe('Id of the conversation that owns the workspace.') }
const processPath = { ...workspacePath, process_id: z.string().describe('The id of a process.') }

const listWorkspacesOperation = operation({
  route: 'GET /v1/workspaces',
  scope: 'read',
  summary: 'Lists the workspaces of conversations with their usage and processes',
  query: z.object({
    agent_id: id('agent').optional().describe('Workspaces of this agent only.'),
    after: id('conv').optional().describe('Cursor: conversation of the last workspace of the previous page.'),
    limit: limit(50),
  }),
  answer: z.array(workspaceSchema),
  async handle({ query: { agent_id, after, limit: size } }, context) {
    const filter = { limit: size, ...defined({ agentId: agent_id || undefined, after: after || undefined }) }
    return (await listWorkspaces(filter, context)).map((one) => wireWorkspace(one, context))
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

/** Needs `admin` because the files cannot be recovered. */
const removeWorkspaceOperation = operation({
  route: 'DELETE /v1/workspaces/:conversation_id',
  scope: 'admin',
  summary: 'Deletes a workspace: ends its processes and permanently deletes its files',
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
    .describe('Offset of the page in bytes, from 0.'),
  limit: limit(DEFAULT_BYTES, MAX_BYTES).describe('Maximum number of bytes in a page.'),
  last: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_BYTES)
    .optional()
    .describe('In place of `from`: the number of bytes from the end.'),
})

const showProcessOperation = operation({
  route: 'GET /v1/workspaces/:conversation_id/processes/:process_id',
  scope: 'read',
  summary: 'Shows a process and a page of its output; the next page begins at `next`',
  params: processPath,
  query: outputQuery,
  answer: processPageSchema,
  async handle({ params: { conversation_id, process_id }, query }, context) {
    const wanted = { conversationId: conversation_id, processId: process_id, range: rangeOf(query) }
    return wireProcessPage(await showProcess(wanted, context))
  },
})

const endProcessOperation = operation({
  route: 'DELETE /v1/workspaces/:conversation_id/processes/:process_id',
  scope: 'agent',
  summary: 'Ends a process and all processes it started, and shows how it ended',
  audit: 'by-verb',
  params: processPath,
  answer: processSchema,
  handle: async ({ params: { conversation_id, process_id } }, context) =>
    wireProcess(await endProcess({ conversationId: conversation_id, processId: process_id }, context)),
})

const wake = flag
  .default(false)
  .describe('Start the sandbox of a workspace that is asleep. Without it, its files are not read.')

const listFilesOperation = operation({
  route: 'GET /v1/workspaces/:conversation_id/files',
  scope: 'read',
  summary: 'Lists what a folder of a workspace has',
  params: workspacePath,
  query: z.object({
    path: z.string().default('.').describe('A folder, relative to the workspace or absolute within it.'),
    wake,
  }),
  answer: folderSchema,
  handle: async ({ params: { conversation_id: conversationId }, query }, context) =>
    wireFolder(await listFiles({ conversationId, path: query.path, wake: query.wake }, context)),
})

const readContentOperation = operation({
  route: 'GET /v1/workspaces/:conversation_id/files/content',
  scope: 'read',
  summary: 'Reads a file of a workspace, up to 4 MiB',
  params: workspacePath,
  query: z.object({ path: z.string().describe('A file, relative to the workspace or absolute within it.'), wake }),
  answer: contentSchema,
  handle: async ({ params: { conversation_id: conversationId }, query }, context) =>
    wireContent(await readContent({ conversationId, path: query.path, wake: query.wake }, context)),
})

const MAX_MINUTES = 24 * 60

const openPageOperation = operation({
  route: 'POST /v1/workspaces/:conversation_id/pages',
  scope: 'agent',
  summary: 'Opens a port of a workspace for a browser on the machine of the server, at an address that works once',
  audit: 'by-verb',
  params: workspacePath,
  body: z.object({
    port: z.int().min(1).max(65_535).optional().describe('Port inside the workspace. Default: the only open one.'),
    minutes: z.int().min(1).max(MAX_MINUTES).default(60).describe('How long the page can be read.'),
  }),
  answer: pageSchema,
  async handle({ params: { conversation_id: conversationId }, body: { port, minutes } }, context) {
    return wirePage(await openPage({ conversationId, minutes, ...defined({ port }) }, context))
  },
})

const closePageOperation = operation({
  route: 'DELETE /v1/workspaces/:conversation_id/pages/:page_id',
  scope: 'agent',
  summary: 'Closes a page of a workspace before it expires',
  params: { ...workspacePath, page_id: z.string().describe('The id of a page.') },
  answer: z.null(),
  async handle({ params: { conversation_id: conversationId, page_id: pageId } }, context) {
    await closePage({ conversationId, pageId }, context)
    return null
  },
})

export const workspaceOperations = [
  listWorkspacesOperation,
  showWorkspaceOperation,
  removeWorkspaceOperation,
  showProcessOperation,
  endProcessOperation,
  listFilesOperation,
  readContentOperation,
  openPageOperation,
  closePageOperation,
]

const rangeOf = ({ from, limit: size, last }: z.output<typeof outputQuery>): OutputRange =>
  from === undefined && last !== undefined ? { last } : { from: from ?? 0, limit: size }
