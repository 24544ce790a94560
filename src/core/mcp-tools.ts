import type { ToolId } from './id.ts'
import { canonicalJson } from './json.ts'
import type { McpServer, McpToolDefinition } from './mcp-server.ts'
import type { StoredTool } from './stored-tool.ts'

/** The changes to the stored tools that a server's tool list requires. */
export type ToolPlan = { add: StoredTool[]; change: StoredTool[]; remove: StoredTool[] }

export type PlanToolsOptions = {
  server: Pick<McpServer, 'id' | 'organizationId' | 'name'>
  listed: readonly McpToolDefinition[]
  /** The stored tools of this server. */
  known: readonly StoredTool[]
  /** Whether a tool outside this server has the name. */
  isTaken(name: string): boolean
  /** One id for each listed tool. */
  ids: readonly ToolId[]
  now: number
}

const RETURN_LIMIT = 50_000

/**
 * A tool keeps its id, its name and its user settings for as long as its server lists it. Its description for models
 * changes only here, so a server cannot change it without a refresh.
 */
export function planTools({ server, listed, known, isTaken, ids, now }: PlanToolsOptions): ToolPlan {
  const plan: ToolPlan = { add: [], change: [], remove: [] }
  const names = new Set(known.map(({ name }) => name))
  const seen = new Set<string>()
  for (const [index, definition] of listed.entries()) {
    if (seen.has(definition.name)) continue
    seen.add(definition.name)
    const before = known.find(({ mcp }) => mcp?.toolName === definition.name)
    if (before) {
      const after = withDefinition(before, definition, server)
      if (isSameDefinition(before, after)) continue
      plan.change.push({ ...after, updatedAt: now })
      continue
    }
    const name = freeName(definition.name, server.name, (wanted) => names.has(wanted) || isTaken(wanted))
    names.add(name)
    plan.add.push(newTool(definition, { id: ids[index]!, name, server, now }))
  }
  plan.remove = known.filter(({ mcp }) => !seen.has(mcp?.toolName ?? ''))
  return plan
}

const serverTag = (serverName: string): string => `mcp:${serverName}`

/** The tool with its tags and metadata updated to the server's new name. */
export function retagged(tool: StoredTool, server: Pick<McpServer, 'id' | 'name'>, formerName: string): StoredTool {
  const tags = tool.tags.map((tag) => (tag === serverTag(formerName) ? serverTag(server.name) : tag))
  return { ...tool, tags, wire: { ...tool.wire, metadata_: metadataOf(tool.mcp!.toolName, server) } }
}

function newTool(
  definition: McpToolDefinition,
  { id, name, server, now }: { id: ToolId; name: string; server: PlanToolsOptions['server']; now: number },
): StoredTool {
  const blank: StoredTool = {
    id,
    organizationId: server.organizationId,
    name,
    description: '',
    toolType: 'external_mcp',
    sourceType: 'json',
    sourceCode: '',
    jsonSchema: {},
    tags: [serverTag(server.name)],
    returnCharLimit: RETURN_LIMIT,
    needsApproval: false,
    parallel: definition.effects === 'none',
    wire: {},
    createdAt: now,
    updatedAt: now,
  }
  return withDefinition(blank, definition, server)
}

function withDefinition(
  tool: StoredTool,
  { name: toolName, description, inputSchema, effects }: McpToolDefinition,
  server: PlanToolsOptions['server'],
): StoredTool {
  return {
    ...tool,
    description,
    jsonSchema: { name: tool.name, description, parameters: inputSchema },
    wire: { ...tool.wire, metadata_: metadataOf(toolName, server) },
    mcp: { serverId: server.id, toolName, effects },
  }
}

const metadataOf = (toolName: string, server: Pick<McpServer, 'id' | 'name'>) => ({
  mcp: { server_name: server.name, server_id: server.id, tool_name: toolName },
})

const isSameDefinition = (one: StoredTool, other: StoredTool): boolean =>
  one.mcp?.effects === other.mcp?.effects &&
  one.description === other.description &&
  canonicalJson(one.jsonSchema) === canonicalJson(other.jsonSchema)

const LONGEST_NAME = 64

/** The server's name for the tool; if that is taken, with the name of the server as prefix. */
function freeName(wanted: string, serverName: string, isTaken: (name: string) => boolean): string {
  const own = cleanName(wanted)
  if (!isTaken(own)) return own
  const full = cleanName(`${serverName}_${wanted}`)
  for (let number = 1; ; number++) {
    const name = number === 1 ? full : `${full.slice(0, LONGEST_NAME - 5)}_${number}`
    if (!isTaken(name)) return name
  }
}

/** Replaces characters that model providers do not accept in tool names. */
function cleanName(wanted: string): string {
  const cleaned = wanted.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return (/^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`).slice(0, LONGEST_NAME)
}
