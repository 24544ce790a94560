import type { ClientTool } from '../core/run.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'

/** The tools of one run: client tools take precedence over server tools of the same name. */
export function withClientTools(tools: ToolRegistry, clientTools: readonly ClientTool[]): ToolRegistry {
  if (clientTools.length === 0) return tools
  const theirs = new Map(clientTools.map((tool) => [tool.name, toClientTool(tool)]))
  return {
    find: (name) => theirs.get(name) ?? tools.find(name),
    names: () => [...new Set([...theirs.keys(), ...tools.names()])],
    // The client runs the tool and validates its input.
    inputFault: (tool, input) => (theirs.get(tool.name) === tool ? undefined : tools.inputFault(tool, input)),
  }
}

/** A call always waits for the client, which should answer with a result. */
const toClientTool = ({ name, description, inputSchema }: ClientTool): Tool => ({
  name,
  description,
  inputSchema,
  effects: 'once',
  parallel: false,
  needsApproval: true,
  outputLimit: 50_000,
  timeoutMs: 1_000,
  run: async () => ({
    status: 'error',
    output: `The tool ${name} runs at the client, which approved the call and sent no result.`,
  }),
})
