import type { Agent } from '../../core/agent.ts'
import { listAgents, requireAgent } from '../../service/agents/agents.ts'
import { type Context, printJson, withApp } from '../context.ts'
import { FIRST_MODEL } from '../first-agent.ts'
import { withHouse } from '../house.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

type CreateOptions = { model?: string[]; fallback?: string[]; system?: string; tool?: string[] }

export const listAll = ({ json }: { json?: boolean }, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const { out } = context
    const agents = await listAgents(desk)
    if (json) return printJson(out, agents.map(agentJson))
    if (agents.length === 0) out.line('No agents yet. `holdfast chat` makes the first one.')
    for (const { id, name, model, tools } of agents)
      out.line(`${out.look.paint.bold(safeText(name).padEnd(16))} ${id}  ${model}  ${tools.length} tools`)
  })

export const create = (name: string, options: CreateOptions, context: Context): Promise<void> =>
  withHouse(context, 'rows', async ({ desk, verbs }) => {
    const [model = desk.defaults.model ?? FIRST_MODEL, ...more] = options.model ?? []
    const { system, tool: tools } = options
    const fallback = [...more, ...(options.fallback ?? [])]
    const request = { name, model, fallback, ...(system ? { system } : {}), ...(tools ? { tools } : {}) }
    const agent = await verbs.createAgent(request)
    context.out.line(`Created ${safeText(agent.name)} (${agent.id}).`)
  })

export const show = (idOrName: string, { json }: { json?: boolean }, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const { out } = context
    const agent = await requireAgent(idOrName, desk)
    if (json) return printJson(out, agentJson(agent))
    const { id, name, model, fallback, tools, system, createdAt } = agent
    out.line(`${out.look.paint.bold(safeText(name))} (${id})`)
    out.line(`  models   ${[model, ...fallback].join(' → ')}`)
    out.line(`  tools    ${tools.join(', ') || 'none'}`)
    out.line(`  created  ${timeJson(createdAt)}`)
    out.line(`  system   ${safeText(system)}`)
  })

const agentJson = ({ id, name, model, fallback, tools, system, createdAt }: Agent) => ({
  ...{ id, name, model, fallback, tools, system },
  created_at: timeJson(createdAt),
})
