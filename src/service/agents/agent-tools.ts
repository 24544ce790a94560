import type { Agent } from '../../core/agent.ts'
import { RETIRED_TOOLS } from '../../core/base-tools.ts'
import type { ToolId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import { requireApproveRight } from '../approvals/approver.ts'
import type { ServiceContext } from '../service-context.ts'
import { findKnownToolNames, findToolsByName, requireTool } from '../tools/tools.ts'

export const toolsOf = (agent: Agent, context: ServiceContext): Promise<StoredTool[]> =>
  findToolsByName(agent.tools, context)

type NamedTools = { tools: string[]; missingTools: string[] }

/** The tools of an HTTP request; built-in tools of the retired server may be missing, other names must exist. */
export async function requireNamedTools(wanted: readonly string[], context: ServiceContext): Promise<NamedTools> {
  const names = [...new Set(wanted)]
  const tools = await findKnownToolNames(names, context)
  const missingTools = names.filter((name) => !tools.includes(name))
  const unknown = missingTools.filter((name) => !RETIRED_TOOLS.includes(name))
  if (unknown.length === 0) return { tools, missingTools }
  const shown = unknown.map((name) => `"${name.slice(0, 200)}"`).join(', ')
  throw new Problem(
    'invalid-argument',
    `Tools not found by name: ${shown}. \`tools\` takes the names that GET /v1/tools lists; POST /v1/tools adds one.`,
  )
}

/** Idempotent. A tool that requires approval by default requires it on this agent too. */
export async function attachTool(agent: Agent, id: ToolId, context: ServiceContext): Promise<void> {
  const { name } = await requireTool(id, context)
  await changeTools(agent, context, (before) => {
    const { missingTools, ...settings } = before.settings ?? {}
    const missing = (missingTools ?? []).filter((one) => one !== name)
    return {
      tools: before.tools.includes(name) ? before.tools : [...before.tools, name],
      settings: missing.length > 0 ? { ...settings, missingTools: missing } : settings,
    }
  })
}

/** Also removes the setting that exempts the tool from approval on this agent. One that requires approval stays. */
export async function detachTool(agent: Agent, id: ToolId, context: ServiceContext): Promise<void> {
  const { name } = await requireTool(id, context)
  await changeTools(agent, context, (before) => {
    const { [name]: asks, ...others } = before.settings?.approvals ?? {}
    const approvals = asks ? { ...others, [name]: asks } : others
    return { tools: before.tools.filter((one) => one !== name), settings: { ...before.settings, approvals } }
  })
}

/** Sets whether calls of this tool need approval, for this agent only. */
export async function setApproval(
  { agent, tool, isRequired }: { agent: Agent; tool: string; isRequired: boolean },
  context: ServiceContext,
): Promise<void> {
  if (!agent.tools.includes(tool)) throw new Problem('not-found', `Agent ${agent.name} has no tool named ${tool}.`)
  if (!isRequired && (await asks(agent, tool, context)))
    requireApproveRight(`lifting the approval of ${tool} for ${agent.name}`, context)
  await changeTools(agent, context, (before) => ({
    settings: { ...before.settings, approvals: { ...before.settings?.approvals, [tool]: isRequired } },
  }))
}

/** Whether calls of this tool wait now. */
async function asks({ settings }: Agent, name: string, context: ServiceContext): Promise<boolean> {
  const own = settings?.approvals?.[name]
  if (own !== undefined) return own
  const [tool] = await findToolsByName([name], context)
  return tool?.needsApproval ?? false
}

async function changeTools(
  agent: Agent,
  context: ServiceContext,
  change: (agent: Agent) => Partial<Agent>,
): Promise<void> {
  const now = context.deps.clock.now()
  const edit = (before: Agent): Agent => ({ ...before, ...change(before), updatedAt: now })
  if (!(await context.deps.store.agents.update(context.organizationId, agent.id, { edit })))
    throw new Problem('not-found', `There is no agent "${agent.id}".`)
}
