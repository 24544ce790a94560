import type { Agent } from '../core/agent.ts'
import { CHANGED_DEFINITION, MAX_MCP_CALL_SECONDS } from '../core/mcp-server.ts'
import { pinnedDefinition } from '../core/mcp-tools.ts'
import type { StoredTool } from '../core/stored-tool.ts'
import type { Mcp } from '../ports/mcp.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'
import type { ToolSources } from '../ports/tool-sources.ts'

type Runners = { mcp: Pick<Mcp, 'call'>; sources: ToolSources }

type ToolOrigins = Runners & { tools: ToolRegistry; stored(names: string[]): Promise<StoredTool[]> }

/**
 * The tools of this agent, with its approval settings and with stored tools: those of MCP servers are called there;
 * custom source code runs in the sandbox.
 */
export async function agentTools(
  agent: Pick<Agent, 'tools' | 'settings'> | undefined,
  { tools, stored, mcp, sources }: ToolOrigins,
): Promise<ToolRegistry> {
  const unknown = (agent?.tools ?? []).filter((name) => mayBeStored(tools.find(name)))
  const { approvals = {}, commandApproval } = agent?.settings ?? {}
  if (unknown.length === 0 && Object.keys(approvals).length === 0 && commandApproval === undefined) return tools
  const own = new Map<string, Tool>()
  for (const tool of unknown.length > 0 ? await stored(unknown) : [])
    own.set(tool.name, toCallableTool(tool, { mcp, sources }))
  for (const [name, needsApproval] of Object.entries(approvals)) {
    const tool = own.get(name) ?? tools.find(name)
    if (tool) own.set(name, { ...tool, needsApproval })
  }
  for (const name of commandApproval === undefined ? [] : (agent?.tools ?? [])) {
    const tool = own.get(name) ?? tools.find(name)
    if (!tool?.approvalReason) continue
    own.set(name, { ...tool, approvalReason: (input) => tool.approvalReason?.(input, commandApproval) })
  }
  return {
    find: (name) => own.get(name) ?? tools.find(name),
    names: () => [...new Set([...own.keys(), ...tools.names()])],
    inputFault: tools.inputFault,
  }
}

/** Whether a stored tool with the name of this built-in tool, or of none, is the one that is meant. */
export const mayBeStored = (builtin: Tool | undefined): boolean => builtin?.yieldsToStored ?? builtin === undefined

/** Makes a stored tool callable. */
export function toCallableTool(stored: StoredTool, { mcp, sources }: Runners): Tool {
  const { name, description, jsonSchema, needsApproval, parallel, returnCharLimit, mcp: link } = stored
  if (!link) return sources.toTool(stored)
  return {
    name,
    description,
    needsApproval,
    parallel,
    outputLimit: returnCharLimit,
    inputSchema: jsonSchema.parameters ?? { type: 'object' },
    effects: link.effects,
    timeoutMs: MCP_CALL_MS,
    async run(input, { signal, idempotencyKey, progress, conversationId }) {
      if (link.changed) return { status: 'error', output: CHANGED_DEFINITION }
      const call = { organizationId: stored.organizationId, link, pinned: pinnedDefinition(stored), input }
      return mcp.call(call, { signal, idempotencyKey, progress, session: conversationId })
    },
  }
}

/** Each server has its own limit, which its client keeps; this one guards against a client that does not. */
const MCP_CALL_MS = (MAX_MCP_CALL_SECONDS + 60) * 1_000
