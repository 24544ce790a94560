import type { Agent } from '../../core/agent.ts'
import type { ToolId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { Desk } from '../desk.ts'
import { namedTools, requireTool } from '../tools/tools.ts'

export const toolsOf = (agent: Agent, desk: Desk): Promise<StoredTool[]> => namedTools(agent.tools, desk)

/** Attaching what is attached changes nothing. A tool that asks by itself asks on this agent too. */
export async function attachTool(agent: Agent, id: ToolId, desk: Desk): Promise<void> {
  const { name } = await requireTool(id, desk)
  await changeTools(agent, desk, (before) => {
    const { missingTools, ...settings } = before.settings ?? {}
    const missing = (missingTools ?? []).filter((one) => one !== name)
    return {
      tools: before.tools.includes(name) ? before.tools : [...before.tools, name],
      settings: missing.length > 0 ? { ...settings, missingTools: missing } : settings,
    }
  })
}

/** With the tool goes what was said about its approval. */
export async function detachTool(agent: Agent, id: ToolId, desk: Desk): Promise<void> {
  const { name } = await requireTool(id, desk)
  await changeTools(agent, desk, (before) => {
    const { [name]: _, ...approvals } = before.settings?.approvals ?? {}
    return { tools: before.tools.filter((one) => one !== name), settings: { ...before.settings, approvals } }
  })
}

/** Whether calls of this tool wait for a person's word, on this agent alone. */
export async function setApproval(
  { agent, tool, isRequired }: { agent: Agent; tool: string; isRequired: boolean },
  desk: Desk,
): Promise<void> {
  if (!agent.tools.includes(tool)) throw new Problem('not-found', `Agent ${agent.name} has no tool named ${tool}.`)
  await changeTools(agent, desk, (before) => ({
    settings: { ...before.settings, approvals: { ...before.settings?.approvals, [tool]: isRequired } },
  }))
}

async function changeTools(agent: Agent, desk: Desk, change: (agent: Agent) => Partial<Agent>): Promise<void> {
  const now = desk.world.clock.now()
  const edit = (before: Agent): Agent => ({ ...before, ...change(before), updatedAt: now })
  if (!(await desk.world.store.agents.update(desk.organizationId, agent.id, { edit })))
    throw new Problem('not-found', `There is no agent ${agent.id}.`)
}
