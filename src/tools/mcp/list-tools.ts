import type { Json, JsonObject } from '../../core/json.ts'
import { effectsFromHints, type McpToolDefinition } from '../../core/mcp-server.ts'
import type { McpConnection } from './connection.ts'

const MOST_TOOLS = 1_000
/** Deeper than any schema a person wrote; what is deeper is meant to break whoever walks it. */
const DEEPEST = 64

/** All pages of them. Rejects where a server lists what nobody could use. */
export async function listTools(connection: McpConnection, signal: AbortSignal): Promise<McpToolDefinition[]> {
  const tools: McpToolDefinition[] = []
  let cursor: string | undefined
  do {
    const page = await connection.page(cursor, signal)
    for (const { name, description, inputSchema, annotations, title } of page.tools) {
      if (isDeep(inputSchema as Json)) throw new Error(`The schema of its tool ${name} is nested too deeply.`)
      const words = description ?? annotations?.title ?? title ?? ''
      tools.push({
        name,
        description: words,
        inputSchema: inputSchema as JsonObject,
        effects: effectsFromHints(annotations),
      })
    }
    if (tools.length > MOST_TOOLS) throw new Error(`It lists more than ${MOST_TOOLS} tools.`)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

/** Level by level: a walk that calls itself is what such a value would break. */
function isDeep(value: Json): boolean {
  let level: Json[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true
    level = level.flatMap((one) => (one !== null && typeof one === 'object' ? Object.values(one) : []))
  }
  return false
}
