import type { Agent } from '../core/agent.ts'
import { NO_SANDBOX, type StoredTool } from '../core/stored-tool.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'

/**
 * The tools as this agent has them: guarded where it says so, and with those that are stored as source, which a model may
 * call and is told that they cannot run.
 */
export async function agentTools(
  agent: Pick<Agent, 'tools' | 'settings'> | undefined,
  tools: ToolRegistry,
  stored: (names: string[]) => Promise<StoredTool[]>,
): Promise<ToolRegistry> {
  const unknown = (agent?.tools ?? []).filter((name) => !tools.find(name))
  const approvals = agent?.settings?.approvals ?? {}
  if (unknown.length === 0 && Object.keys(approvals).length === 0) return tools
  const own = new Map<string, Tool>()
  for (const tool of unknown.length > 0 ? await stored(unknown) : []) own.set(tool.name, inertTool(tool))
  for (const [name, needsApproval] of Object.entries(approvals)) {
    const tool = own.get(name) ?? tools.find(name)
    if (tool) own.set(name, { ...tool, needsApproval })
  }
  return {
    find: (name) => own.get(name) ?? tools.find(name),
    names: () => [...new Set([...own.keys(), ...tools.names()])],
    faultOf: tools.faultOf,
  }
}

const inertTool = ({ name, description, jsonSchema, needsApproval, parallel, returnCharLimit }: StoredTool): Tool => ({
  ...{ name, description, needsApproval, parallel, effects: 'none' },
  inputSchema: jsonSchema.parameters ?? { type: 'object' },
  ...{ outputLimit: returnCharLimit, timeoutMs: 1_000 },
  run: async () => ({ status: 'error', output: NO_SANDBOX }),
})
