import { isOperatorServer, type McpServer } from '../../../core/mcp-server.ts'
import type { Outbound } from '../../../ports/safe-fetch.ts'
import { errorDetail } from '../call-fault.ts'

/** For all requests of one step. */
const STEP_MS = 20_000

/**
 * `fetch` for the addresses that an MCP server names: its metadata and its authorization server. Only a server of an
 * operator that is itself not on the public internet may name others that are not.
 */
export function issuerFetch(
  server: Pick<McpServer, 'organizationId'> & { url: string },
  outbound: Outbound,
  signal = AbortSignal.timeout(STEP_MS),
) {
  const { hostname } = new URL(server.url)
  const isOperators = isOperatorServer(server)
  const isPrivate = outbound.addressFault(server.url, 'public') !== undefined
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const isTrusted = isOperators && (isPrivate || new URL(url).hostname === hostname)
    try {
      return await outbound.fetch[isTrusted ? 'configured' : 'public'](url, { ...init, signal })
    } catch (error) {
      // The SDK takes a TypeError for a refusal of the browser, and goes on without the answer.
      throw new Error(`${new URL(url).host} does not answer: ${errorDetail(error)}`)
    }
  }
}
