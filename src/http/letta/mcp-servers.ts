import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { pinnedDefinition } from '../../core/mcp-tools.ts'
import { Problem } from '../../core/problem.ts'
import {
  approveMcpTool,
  createMcpServer,
  definitionHash,
  deleteMcpServer,
  listMcpServers,
  type McpRefreshResult,
  mcpServerCatalog,
  mcpServerTools,
  refreshMcpServer,
  requireMcpServerTool,
  showMcpServer,
  updateMcpServer,
} from '../../service/tools/mcp-servers.ts'
import { runStoredTool } from '../../service/tools/run-tool.ts'
import { flag } from '../field.ts'
import { nothing, operation } from '../operation.ts'
import { dateSchema } from '../wire-date.ts'
import { newServerBody, newServerFrom, serverChangeBody, serverChangeFrom } from './mcp-server-body.ts'
import { mcpServerPath, toolPath } from './path-params.ts'
import { runBody, toRunToolRequest } from './run-tool.ts'
import { definitionSchema, mcpServerSchema, refreshedSchema, wireDefinition, wireMcpServer } from './wire/mcp-server.ts'
import { ranToolSchema, wireRan } from './wire/ran-tool.ts'
import { toolSchema, wireTool } from './wire/tool.ts'

/**
 * Administrators of an organization register the MCP servers its agents connect to; only operators may register
 * addresses that are not on the public internet. Using a registered server needs no special scope.
 */
const createServer = operation({
  route: 'POST /v1/mcp-servers',
  scope: 'admin',
  summary: 'Adds an MCP server',
  audit: 'with-change',
  body: newServerBody,
  example: {
    server_name: 'search',
    config: { mcp_server_type: 'streamable_http', server_url: 'https://mcp.example.com/mcp' },
  },
  answer: mcpServerSchema,
  handle: async ({ body }, context) => wireMcpServer(await createMcpServer(newServerFrom(body), context), context),
})

const listServers = operation({
  route: 'GET /v1/mcp-servers',
  scope: 'read',
  summary: 'Lists MCP servers',
  answer: z.array(mcpServerSchema),
  handle: async (_, context) => (await listMcpServers(context)).map((server) => wireMcpServer(server, context)),
})

const showServer = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id',
  scope: 'read',
  summary: 'Shows an MCP server',
  params: mcpServerPath,
  answer: mcpServerSchema,
  handle: async ({ params }, context) => wireMcpServer(await showMcpServer(params.mcp_server_id, context), context),
})

const changeServer = operation({
  route: 'PATCH /v1/mcp-servers/:mcp_server_id',
  scope: 'admin',
  summary: 'Updates an MCP server; omitted fields stay unchanged',
  audit: 'with-change',
  params: mcpServerPath,
  body: serverChangeBody,
  example: { server_name: 'search' },
  answer: mcpServerSchema,
  async handle({ params: { mcp_server_id }, body }, context) {
    const before = await showMcpServer(mcp_server_id, context)
    return wireMcpServer(await updateMcpServer(mcp_server_id, serverChangeFrom(body, before), context), context)
  },
})

const removeServer = operation({
  route: 'DELETE /v1/mcp-servers/:mcp_server_id',
  scope: 'admin',
  summary: 'Deletes an MCP server and its tools',
  params: mcpServerPath,
  answer: nothing,
  async handle({ params, reply }, context) {
    const { type } = await deleteMcpServer(params.mcp_server_id, context)
    if (type !== 'none') reply.header('x-holdfast-revocation', type)
    return undefined
  },
})

const refreshServer = operation({
  route: 'PATCH /v1/mcp-servers/:mcp_server_id/refresh',
  scope: 'admin',
  summary: 'Refreshes the tools of an MCP server; changed definitions wait for approval',
  audit: 'with-change',
  params: mcpServerPath,
  query: z.object({
    approve: flag.default(false).describe('Approves the changed definitions that the server lists now.'),
  }),
  answer: refreshedSchema,
  handle: async ({ params, query }, context) =>
    answerTo(await refreshMcpServer(params.mcp_server_id, context, query.approve ? 'approve' : 'hold')),
})

const listServerTools = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/tools',
  scope: 'read',
  summary: 'Lists the tools of an MCP server',
  params: mcpServerPath,
  answer: z.array(toolSchema),
  handle: async ({ params }, context) => (await mcpServerTools(params.mcp_server_id, context)).map(wireTool),
})

const showServerTool = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/tools/:tool_id',
  scope: 'read',
  summary: 'Shows a tool of an MCP server',
  params: { ...mcpServerPath, ...toolPath },
  answer: toolSchema,
  handle: async ({ params }, context) =>
    wireTool(await requireMcpServerTool(params.mcp_server_id, params.tool_id, context)),
})

const runServerTool = operation({
  route: 'POST /v1/mcp-servers/:mcp_server_id/tools/:tool_id/run',
  scope: 'agent',
  summary: 'Runs a tool of an MCP server directly, without a model',
  audit: 'before',
  params: { ...mcpServerPath, ...toolPath },
  body: runBody,
  example: { args: {} },
  answer: ranToolSchema,
  async handle({ params, body, request, reply }, context) {
    const toolRequest = toRunToolRequest(body, { headers: request.headers, raw: reply.raw })
    const tool = await requireMcpServerTool(params.mcp_server_id, params.tool_id, context)
    return wireRan(await runStoredTool(tool, { ...toolRequest, context }))
  },
})

const changedToolSchema = z.lazy(() =>
  z
    .object({
      tool_id: z.string(),
      name: z.string().describe('Name models call the tool by.'),
      since: dateSchema.describe('When the change was first seen.'),
      definition_hash: z
        .string()
        .describe('Names the definition that waits; send it back to approve exactly that one.'),
      approved: definitionSchema.describe('The definition that models are shown.'),
      offered: definitionSchema.describe('The definition that the server lists now.'),
    })
    .meta({ id: 'ChangedMcpTool', description: 'A tool that does not run until its changed definition is approved.' }),
)

const listChangedTools = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/changed-tools',
  scope: 'read',
  summary: 'Lists the tools of an MCP server whose changed definitions wait for approval',
  params: mcpServerPath,
  answer: z.array(changedToolSchema),
  handle: async ({ params }, context) =>
    (await mcpServerTools(params.mcp_server_id, context)).flatMap((tool) => {
      if (!tool.mcp?.changed) return []
      const { definition, since } = tool.mcp.changed
      return [
        {
          tool_id: tool.id,
          name: tool.name,
          since: new Date(since).toISOString(),
          definition_hash: definitionHash(definition, context),
          approved: wireDefinition(pinnedDefinition(tool)),
          offered: wireDefinition(definition),
        },
      ]
    }),
})

const catalogSchema = z.lazy(() =>
  z
    .object({
      resources: z.array(
        z.object({
          uri: z.string(),
          name: z.string(),
          description: z.string().nullable(),
          mime_type: z.string().nullable(),
        }),
      ),
      prompts: z.array(
        z.object({
          name: z.string(),
          description: z.string().nullable(),
          arguments: z.array(z.string()).describe('Names of its arguments.'),
        }),
      ),
    })
    .meta({ id: 'McpCatalog', description: 'What an MCP server offers besides tools.' }),
)

const showCatalog = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/catalog',
  scope: 'agent',
  summary: 'Asks an MCP server for its resources and prompts',
  params: mcpServerPath,
  answer: catalogSchema,
  async handle({ params }, context) {
    const catalog = await mcpServerCatalog(params.mcp_server_id, context)
    if (catalog.type !== 'listed') throw failedPeer(catalog)
    return {
      resources: catalog.resources.map(({ uri, name, description = null, mimeType = null }) => ({
        uri,
        name,
        description,
        mime_type: mimeType,
      })),
      prompts: catalog.prompts.map(({ description = null, ...prompt }) => ({ ...prompt, description })),
    }
  },
})

const approveTool = operation({
  route: 'POST /v1/mcp-servers/:mcp_server_id/tools/:tool_id/approve',
  scope: 'admin',
  summary: 'Approves the changed definition of a tool',
  audit: 'with-change',
  params: { ...mcpServerPath, ...toolPath },
  body: z.object({
    definition_hash: z
      .string()
      .optional()
      .describe('Hash of the definition that was looked at. If the server has changed it again, the answer is 409.'),
  }),
  example: {},
  answer: toolSchema,
  handle: async ({ params: { mcp_server_id: id, tool_id: toolId }, body: { definition_hash: hash } }, context) =>
    wireTool(await approveMcpTool({ id, toolId, ...defined({ hash }) }, context)),
})

export const mcpServerOperations = [
  createServer,
  listServers,
  showServer,
  changeServer,
  removeServer,
  refreshServer,
  listServerTools,
  showServerTool,
  runServerTool,
  listChangedTools,
  showCatalog,
  approveTool,
]

/**
 * Both failures disable the retry of the client: a server that was silent for half a minute will not answer a second
 * later.
 */
function answerTo(refreshed: McpRefreshResult) {
  switch (refreshed.type) {
    case 'refreshed': {
      const { held, ...tools } = refreshed.tools
      return { ...tools, waiting_for_approval: held }
    }
    case 'failed':
    case 'needs-authorization':
      throw failedPeer(refreshed)
  }
}

function failedPeer(failed: Exclude<McpRefreshResult, { type: 'refreshed' }>): Problem {
  const { detail } = failed
  if (failed.type === 'needs-authorization')
    return new Problem(
      'peer-failed',
      `${detail} Begin with \`holdfast mcp connect\` or POST /v1/mcp-servers/{id}/connect.`,
      {
        type: 'mcp_needs_authorization',
        what: 'A person must authorize the MCP server.',
      },
    )
  if (failed.kind === 'timeout') return new Problem('peer-timeout', detail)
  return new Problem('peer-failed', detail, { type: 'mcp_connection_error', what: 'The MCP server cannot be used.' })
}
