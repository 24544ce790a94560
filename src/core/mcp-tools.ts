import type { ToolId } from './id.ts'
import { canonicalJson, type JsonObject } from './json.ts'
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
  /** `approve`: changed definitions take effect. Otherwise they wait for approval. */
  changes: 'hold' | 'approve'
}

const RETURN_LIMIT = 50_000

/**
 * A tool keeps its id, its name and its user settings for as long as its server lists it. Its definition is pinned: what
 * the server lists instead waits for approval.
 */
export function planTools({ server, listed, known, isTaken, ids, now, changes }: PlanToolsOptions): ToolPlan {
  const plan: ToolPlan = { add: [], change: [], remove: [] }
  const names = new Set(known.map(({ name }) => name))
  const seen = new Set<string>()
  for (const [index, definition] of listed.entries()) {
    if (seen.has(definition.name)) continue
    seen.add(definition.name)
    const before = known.find(({ mcp }) => mcp?.toolName === definition.name)
    if (before) {
      const after =
        changes === 'approve' ? withDefinition(before, definition, server) : withOffer(before, definition, now)
      const isSame =
        before.mcp?.changed === after.mcp?.changed &&
        isSameDefinition(pinnedDefinition(before), pinnedDefinition(after))
      if (!isSame) plan.change.push({ ...after, updatedAt: now })
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

/** The approved definition of a tool: its pin. */
export const pinnedDefinition = ({ description, jsonSchema, mcp }: StoredTool): McpToolDefinition => ({
  name: mcp!.toolName,
  description,
  inputSchema: (jsonSchema.parameters ?? {}) as JsonObject,
  effects: mcp!.effects,
})

export const isSameDefinition = (one: McpToolDefinition, other: McpToolDefinition): boolean =>
  canonicalJson(one) === canonicalJson(other)

/** The tool with what its server lists now: a definition that waits, or none if it is the pinned one. */
function withOffer(tool: StoredTool, definition: McpToolDefinition, now: number): StoredTool {
  const { changed, ...link } = tool.mcp!
  if (isSameDefinition(pinnedDefinition(tool), definition)) return changed ? { ...tool, mcp: link } : tool
  if (changed && isSameDefinition(changed.definition, definition)) return tool
  return { ...tool, mcp: { ...link, changed: { definition, since: now } } }
}

/** The tool with the definition that waited. */
export const withApproval = (tool: StoredTool, server: PlanToolsOptions['server'], now: number): StoredTool =>
  tool.mcp?.changed ? { ...withDefinition(tool, tool.mcp.changed.definition, server), updatedAt: now } : tool

/** The tools among these whose definition the server has changed, or changed back. */
export function changedTools(
  known: readonly StoredTool[],
  listed: readonly McpToolDefinition[],
  now: number,
): StoredTool[] {
  return known.flatMap((tool) => {
    const definition = listed.find(({ name }) => name === tool.mcp?.toolName)
    const after = definition ? withOffer(tool, definition, now) : tool
    return after === tool ? [] : [{ ...after, updatedAt: now }]
  })
}

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
export function cleanName(wanted: string): string {
  const cleaned = wanted.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return (/^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`).slice(0, LONGEST_NAME)
}
