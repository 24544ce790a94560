import type { Agent } from '../../core/agent.ts'
import type { ToolId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { ServiceContext } from '../service-context.ts'
import { findToolsByName, requireTool } from '../tools/tools.ts'

export const toolsOf = (agent: Agent, context: ServiceContext): Promise<StoredTool[]> =>
  findToolsByName(agent.tools, context)

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

/** Also removes the approval setting of the tool on this agent. */
export async function detachTool(agent: Agent, id: ToolId, context: ServiceContext): Promise<void> {
  const { name } = await requireTool(id, context)
  await changeTools(agent, context, (before) => {
    const { [name]: _, ...approvals } = before.settings?.approvals ?? {}
    return { tools: before.tools.filter((one) => one !== name), settings: { ...before.settings, approvals } }
  })
}

/** Sets whether calls of this tool need approval, for this agent only. */
export async function setApproval(
  { agent, tool, isRequired }: { agent: Agent; tool: string; isRequired: boolean },
  context: ServiceContext,
): Promise<void> {
  if (!agent.tools.includes(tool)) throw new Problem('not-found', `Agent ${agent.name} has no tool named ${tool}.`)
  await changeTools(agent, context, (before) => ({
    settings: { ...before.settings, approvals: { ...before.settings?.approvals, [tool]: isRequired } },
  }))
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
