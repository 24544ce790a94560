import type { McpToolDefinition } from '../../core/mcp-server.ts'
import type { McpConnection } from './connection.ts'
import { listTools } from './list-tools.ts'

/** How long a session's list counts as current, if the server does not say earlier that it changed. */
const MAX_AGE_MS = 300_000

type Listed = { tools: readonly McpToolDefinition[]; at: number; version: number }

/** What servers list in their open sessions, so that a call asks for it once a session and not each time. */
export function newListedDefinitions(now: () => number) {
  const known = new WeakMap<McpConnection, Listed>()
  return async (connection: McpConnection, signal: AbortSignal): Promise<readonly McpToolDefinition[]> => {
    const before = known.get(connection)
    const { listVersion: version } = connection
    if (before && before.version === version && now() - before.at < MAX_AGE_MS) return before.tools
    const tools = await listTools(connection, signal)
    known.set(connection, { tools, at: now(), version })
    return tools
  }
}
