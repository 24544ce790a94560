import { z } from 'zod'
import { Problem } from '../../core/problem.ts'
import {
  createMcpServer,
  deleteMcpServer,
  listMcpServers,
  type McpRefreshResult,
  mcpServerTools,
  refreshMcpServer,
  requireMcpServerTool,
  showMcpServer,
  updateMcpServer,
} from '../../service/tools/mcp-servers.ts'
import { runStoredTool } from '../../service/tools/run-tool.ts'
import { nothing, operation } from '../operation.ts'
import { newServerBody, newServerFrom, serverChangeBody, serverChangeFrom } from './mcp-server-body.ts'
import { mcpServerPath, toolPath } from './path-params.ts'
import { runBody, toRunToolRequest } from './run-tool.ts'
import { mcpServerSchema, NO_SANDBOX_YET, refreshedSchema, wireMcpServer } from './wire/mcp-server.ts'
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
  handle: async ({ body }, context) => wireMcpServer(await createMcpServer(newServerFrom(body), context)),
})

const listServers = operation({
  route: 'GET /v1/mcp-servers',
  scope: 'read',
  summary: 'Lists MCP servers',
  answer: z.array(mcpServerSchema),
  handle: async (_, context) => (await listMcpServers(context)).map(wireMcpServer),
})

const showServer = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id',
  scope: 'read',
  summary: 'Shows an MCP server',
  params: mcpServerPath,
  answer: mcpServerSchema,
  handle: async ({ params }, context) => wireMcpServer(await showMcpServer(params.mcp_server_id, context)),
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
    return wireMcpServer(await updateMcpServer(mcp_server_id, serverChangeFrom(body, before), context))
  },
})

const removeServer = operation({
  route: 'DELETE /v1/mcp-servers/:mcp_server_id',
  scope: 'admin',
  summary: 'Deletes an MCP server and its tools',
  params: mcpServerPath,
  answer: nothing,
  async handle({ params }, context) {
    await deleteMcpServer(params.mcp_server_id, context)
    return undefined
  },
})

const refreshServer = operation({
  route: 'PATCH /v1/mcp-servers/:mcp_server_id/refresh',
  scope: 'admin',
  summary: 'Refreshes the tools of an MCP server',
  audit: 'with-change',
  params: mcpServerPath,
  answer: refreshedSchema,
  handle: async ({ params }, context) => answerTo(await refreshMcpServer(params.mcp_server_id, context)),
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
]

/**
 * Both failures disable the retry of the client: a server that was silent for half a minute will not answer a second
 * later.
 */
function answerTo(refreshed: McpRefreshResult) {
  switch (refreshed.type) {
    case 'refreshed':
      return refreshed.tools
    case 'waits-for-sandbox':
      throw new Problem('not-served', NO_SANDBOX_YET)
    case 'failed': {
      const { kind, detail } = refreshed
      if (kind === 'timeout') throw new Problem('peer-timeout', detail)
      throw new Problem('peer-failed', detail, {
        type: 'mcp_connection_error',
        what: 'The MCP server cannot be used.',
      })
    }
  }
}
