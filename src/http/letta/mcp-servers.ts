import { z } from 'zod'
import { Problem } from '../../core/problem.ts'
import {
  createMcpServer,
  deleteMcpServer,
  listMcpServers,
  mcpServerTools,
  type Refreshed,
  refreshMcpServer,
  requireMcpServerTool,
  showMcpServer,
  updateMcpServer,
} from '../../service/tools/mcp-servers.ts'
import { runStoredTool } from '../../service/tools/run-tool.ts'
import { nothing, operation } from '../operation.ts'
import { mcpServerPath, toolPath } from './addressed.ts'
import { newServerBody, newServerFrom, serverChangeBody, serverChangeFrom } from './mcp-server-body.ts'
import { runAsked, runBody } from './run-tool.ts'
import { mcpServerSchema, NO_SANDBOX_YET, refreshedSchema, wireMcpServer } from './wire/mcp-server.ts'
import { ranToolSchema, wireRan } from './wire/ran-tool.ts'
import { toolSchema, wireTool } from './wire/tool.ts'

/**
 * Administrators of an organization name the servers its agents reach out to, and only those of the default one may
 * name an address that is not on the public internet. Using what they named needs no more than other work does.
 */
const createServer = operation({
  route: 'POST /v1/mcp-servers',
  scope: 'admin',
  summary: 'Adds an MCP server',
  audit: 'by-request',
  body: newServerBody,
  example: {
    server_name: 'search',
    config: { mcp_server_type: 'streamable_http', server_url: 'https://mcp.example.com/mcp' },
  },
  answer: mcpServerSchema,
  handle: async ({ body }, desk) => wireMcpServer(await createMcpServer(newServerFrom(body), desk)),
})

const listServers = operation({
  route: 'GET /v1/mcp-servers',
  scope: 'read',
  summary: 'Lists MCP servers',
  answer: z.array(mcpServerSchema),
  handle: async (_, desk) => (await listMcpServers(desk)).map(wireMcpServer),
})

const showServer = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id',
  scope: 'read',
  summary: 'Shows an MCP server',
  params: mcpServerPath,
  answer: mcpServerSchema,
  handle: async ({ params }, desk) => wireMcpServer(await showMcpServer(params.mcp_server_id, desk)),
})

const changeServer = operation({
  route: 'PATCH /v1/mcp-servers/:mcp_server_id',
  scope: 'admin',
  summary: 'Changes an MCP server; fields that are left out stay as they are',
  audit: 'by-request',
  params: mcpServerPath,
  body: serverChangeBody,
  example: { server_name: 'search' },
  answer: mcpServerSchema,
  async handle({ params: { mcp_server_id }, body }, desk) {
    const before = await showMcpServer(mcp_server_id, desk)
    return wireMcpServer(await updateMcpServer(mcp_server_id, serverChangeFrom(body, before), desk))
  },
})

const removeServer = operation({
  route: 'DELETE /v1/mcp-servers/:mcp_server_id',
  scope: 'admin',
  summary: 'Removes an MCP server and its tools',
  params: mcpServerPath,
  answer: nothing,
  async handle({ params }, desk) {
    await deleteMcpServer(params.mcp_server_id, desk)
    return undefined
  },
})

const refreshServer = operation({
  route: 'PATCH /v1/mcp-servers/:mcp_server_id/refresh',
  scope: 'admin',
  summary: 'Asks an MCP server again which tools it has',
  audit: 'by-request',
  params: mcpServerPath,
  answer: refreshedSchema,
  handle: async ({ params }, desk) => answerTo(await refreshMcpServer(params.mcp_server_id, desk)),
})

const listServerTools = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/tools',
  scope: 'read',
  summary: 'Lists the tools of an MCP server',
  params: mcpServerPath,
  answer: z.array(toolSchema),
  handle: async ({ params }, desk) => (await mcpServerTools(params.mcp_server_id, desk)).map(wireTool),
})

const showServerTool = operation({
  route: 'GET /v1/mcp-servers/:mcp_server_id/tools/:tool_id',
  scope: 'read',
  summary: 'Shows a tool of an MCP server',
  params: { ...mcpServerPath, ...toolPath },
  answer: toolSchema,
  handle: async ({ params }, desk) => wireTool(await requireMcpServerTool(params.mcp_server_id, params.tool_id, desk)),
})

const runServerTool = operation({
  route: 'POST /v1/mcp-servers/:mcp_server_id/tools/:tool_id/run',
  scope: 'agent',
  summary: 'Runs a tool of an MCP server by hand',
  audit: 'by-request',
  params: { ...mcpServerPath, ...toolPath },
  body: runBody,
  example: { args: {} },
  answer: ranToolSchema,
  async handle({ params, body, request, reply }, desk) {
    const asked = runAsked(body, { headers: request.headers, raw: reply.raw })
    const tool = await requireMcpServerTool(params.mcp_server_id, params.tool_id, desk)
    return wireRan(await runStoredTool(tool, { ...asked, desk }))
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

/** The client would repeat 408 and 502: what did not answer for half a minute will not in the next second. */
function answerTo(refreshed: Refreshed) {
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
