import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { listAgents, requireAgent } from '../../service/agents/agents.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'
import type { ModelChange } from '../verbs.ts'

type CreateAgentFlags = { model?: string[]; fallback?: string[]; system?: string; tool?: string[] }

type UpdateAgentFlags = { model?: string[]; fallback?: string[] | false }

export const listAll = ({ json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const agents = await listAgents(context)
    if (json) return printJson(out, agents.map(agentJson))
    if (agents.length === 0) out.line('No agents yet. `holdfast chat` creates the first one.')
    for (const { id, name, model, tools } of agents)
      out.line(`${out.look.paint.bold(safeText(name).padEnd(16))} ${id}  ${model}  ${tools.length} tools`)
  })

export const create = (name: string, options: CreateAgentFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const [model = context.defaults.model, ...more] = options.model ?? []
    const { system, tool: tools } = options
    const fallback = [...more, ...(options.fallback ?? [])]
    const request = { name, model, fallback, ...defined({ system: system || undefined, tools }) }
    const agent = await verbs.createAgent(request)
    cli.out.line(`Created ${safeText(agent.name)} (${agent.id}).`)
  })

export const update = (idOrName: string, flags: UpdateAgentFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const change = requireChange(flags)
    const agent = await verbs.updateAgent(await requireAgent(idOrName, context), change)
    cli.out.line(`Updated ${safeText(agent.name)} (${agent.id}): ${[agent.model, ...agent.fallback].join(' → ')}.`)
  })

/** `--no-fallback` is `false`. */
function requireChange({ model: models, fallback }: UpdateAgentFlags): ModelChange {
  const [model, ...more] = models ?? []
  const listed = fallback === false ? [] : fallback
  const chain = more.length > 0 ? [...more, ...(listed ?? [])] : listed
  if (model === undefined && chain === undefined)
    throw new Problem('invalid', 'Nothing to change. Use --model, --fallback or --no-fallback.')
  return defined({ model, fallback: chain })
}

export const show = (idOrName: string, { json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const agent = await requireAgent(idOrName, context)
    if (json) return printJson(out, agentJson(agent))
    const { id, name, model, fallback, tools, system, createdAt } = agent
    out.line(`${out.look.paint.bold(safeText(name))} (${id})`)
    out.line(`  models   ${[model, ...fallback].join(' → ')}`)
    out.line(`  tools    ${tools.join(', ') || 'none'}`)
    out.line(`  created  ${timeJson(createdAt)}`)
    out.line(`  system   ${safeText(system)}`)
  })

const agentJson = ({ id, name, model, fallback, tools, system, createdAt }: Agent) => ({
  id,
  name,
  model,
  fallback,
  tools,
  system,
  created_at: timeJson(createdAt),
})
