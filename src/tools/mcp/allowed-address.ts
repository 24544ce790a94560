import { isOperatorServer, type McpServer } from '../../core/mcp-server.ts'
import type { AddressTrust } from '../../ports/safe-fetch.ts'

/** The only place that decides which addresses requests to an MCP server may reach. */
export const reachOfServer = (server: Pick<McpServer, 'organizationId'>): AddressTrust =>
  isOperatorServer(server) ? 'configured' : 'public'
