import { isOperatorServer, type McpServer } from '../../core/mcp-server.ts'
import type { AddressTrust } from '../../ports/safe-fetch.ts'

/** The one place that decides how far the requests to an MCP server may go. */
export const reachOfServer = (server: Pick<McpServer, 'organizationId'>): AddressTrust =>
  isOperatorServer(server) ? 'configured' : 'public'
