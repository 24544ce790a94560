import type { Json, JsonObject } from '../../core/json.ts'
import { effectsFromHints, type McpToolDefinition } from '../../core/mcp-server.ts'
import type { McpConnection } from './connection.ts'

const MAX_TOOLS = 1_000
/** More than any real schema has: a deeper one is an attack on code that walks it. */
const MAX_DEPTH = 64

/** Lists the tools of an MCP server, all pages. Rejects too many tools and input schemas that are nested too deeply. */
export async function listTools(connection: McpConnection, signal: AbortSignal): Promise<McpToolDefinition[]> {
  const tools: McpToolDefinition[] = []
  let cursor: string | undefined
  do {
    const page = await connection.page('tools', cursor, signal)
    for (const { name, description, inputSchema, annotations, title } of page.tools) {
      if (isTooDeep(inputSchema as Json))
        throw new Error(`The input schema of the tool ${name} has more than ${MAX_DEPTH} levels.`)
      const text = description ?? annotations?.title ?? title ?? ''
      tools.push({
        name,
        description: text,
        inputSchema: inputSchema as JsonObject,
        effects: effectsFromHints(annotations),
      })
    }
    if (tools.length > MAX_TOOLS) throw new Error(`The MCP server lists more than ${MAX_TOOLS} tools.`)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

/** Iterative: a recursive walk would overflow the stack on such a value. */
function isTooDeep(value: Json): boolean {
  let level: Json[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((one) => (one !== null && typeof one === 'object' ? Object.values(one) : []))
  }
  return false
}
