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
import type { Routes } from '../routes.ts'
import { HttpFault, NO_RETRY } from './errors.ts'
import {
  NO_SANDBOX_YET,
  newServerBody,
  newServerFrom,
  serverChangeBody,
  serverChangeFrom,
  wireMcpServer,
} from './mcp-server-body.ts'
import { idIn, parsed } from './parse.ts'
import { runAsked, runBody, wireRan } from './run-tool.ts'
import { wireTool } from './wire/tool.ts'

const SERVERS = '/v1/mcp-servers'
const ONE = `${SERVERS}/:mcp_server_id`

export function registerMcpServerRoutes(routes: Routes): void {
  routes.post(
    SERVERS,
    async ({ body }, desk) =>
      wireMcpServer(await createMcpServer(newServerFrom(parsed(newServerBody, body, 'body')), desk)),
    { body: newServerBody },
  )

  routes.get(SERVERS, async (_, desk) => (await listMcpServers(desk)).map(wireMcpServer))

  routes.get(ONE, async ({ params }, desk) => wireMcpServer(await showMcpServer(idIn.mcpServer(params), desk)))

  routes.patch(
    ONE,
    async ({ params, body }, desk) => {
      const id = idIn.mcpServer(params)
      const change = parsed(serverChangeBody, body, 'body')
      const before = await showMcpServer(id, desk)
      return wireMcpServer(await updateMcpServer(id, serverChangeFrom(change, before), desk))
    },
    { body: serverChangeBody },
  )

  routes.delete(ONE, async ({ params }, desk, reply) => {
    await deleteMcpServer(idIn.mcpServer(params), desk)
    return reply.code(204).send()
  })

  routes.patch(`${ONE}/refresh`, async ({ params }, desk) =>
    answerTo(await refreshMcpServer(idIn.mcpServer(params), desk)),
  )

  routes.get(`${ONE}/tools`, async ({ params }, desk) =>
    (await mcpServerTools(idIn.mcpServer(params), desk)).map(wireTool),
  )

  routes.get(`${ONE}/tools/:tool_id`, async ({ params }, desk) =>
    wireTool(await requireMcpServerTool(idIn.mcpServer(params), idIn.tool(params), desk)),
  )

  routes.post(
    `${ONE}/tools/:tool_id/run`,
    async ({ params, body, headers }, desk, { raw }) => {
      const asked = runAsked(parsed(runBody, body, 'body'), { headers, raw })
      const tool = await requireMcpServerTool(idIn.mcpServer(params), idIn.tool(params), desk)
      return wireRan(await runStoredTool(tool, { ...asked, desk }))
    },
    { body: runBody },
  )
}

/** The client would repeat 408 and 502: what did not answer for half a minute will not in the next second. */
function answerTo(refreshed: Refreshed) {
  switch (refreshed.type) {
    case 'refreshed':
      return refreshed.tools
    case 'waits-for-sandbox':
      throw new HttpFault({ status: 501, body: { detail: NO_SANDBOX_YET }, headers: NO_RETRY })
    case 'failed': {
      const { kind, detail } = refreshed
      if (kind === 'timeout') throw new HttpFault({ status: 408, body: { detail }, headers: NO_RETRY })
      const error = { type: 'mcp_connection_error', message: 'The MCP server cannot be used.', detail }
      throw new HttpFault({ status: 502, body: { error, detail }, headers: NO_RETRY })
    }
  }
}
