import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { Json } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import { toolsOf } from '../../service/agents/agent-tools.ts'
import { requireAgent, searchAgents } from '../../service/agents/agents.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { listTools } from '../../service/tools/tools.ts'
import { switchOf } from '../agent-fields.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { type Screen, safeName, safeText } from '../terminal.ts'

export const listAll = ({ agent: named, json }: JsonFlag & { agent?: string }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const agent = named === undefined ? undefined : await requireAgent(named, context)
    const tools = agent ? await toolsOf(agent, context) : await listTools(context)
    printTools(tools, { json, out: cli.out, agent })
  })

export function printTools(
  tools: readonly StoredTool[],
  { json, out, agent }: { json: boolean | undefined; out: Screen; agent?: Agent | undefined },
): void {
  if (json) {
    const all = tools.map((tool) => toolJson(tool, agent))
    printJson(out, all)
  } else if (tools.length === 0) out.line('No tools.')
  else
    printTable(
      tools,
      [
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
        { title: 'TYPE', text: ({ toolType }) => toolType, shrinksTo: 6 },
        { title: 'APPROVAL', text: (tool) => approvalText(tool, agent) },
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'DESCRIPTION', text: ({ description }) => description, shrinksTo: 16, longest: 100 },
      ],
      out,
    )
}

function approvalText(tool: StoredTool, agent?: Agent): string {
  if (tool.mcp?.changed) return 'definition changed'
  return needsApproval(tool, agent) ? 'needed' : ''
}

/** An agent may have its own answer. */
const needsApproval = ({ name, needsApproval: usual }: StoredTool, agent?: Agent): boolean =>
  agent?.settings?.approvals?.[name] ?? usual

export const show = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const tool = await requireToolNamed(which, context)
    if (json) return printJson(out, toolJson(tool))
    const users = await agentsWith(tool, context)
    out.line(`${out.look.paint.bold(safeName(tool.name))} (${tool.id})`)
    printFields(
      [
        ['type', tool.toolType],
        ['approval', tool.needsApproval ? 'needed, unless an agent says otherwise' : 'not needed'],
        ['agents', users.map(({ name }) => safeName(name)).join(', ') || 'none'],
        ['arguments', safeText(JSON.stringify(tool.jsonSchema.parameters ?? {}))],
        ['description', safeText(tool.description)],
      ],
      out,
    )
  })

type Place = { agent: string; tool: string }

export const attach = (place: Place, flags: JsonFlag, cli: CliContext) =>
  changeAttachment(place, 'attach', { flags, cli })
export const detach = (place: Place, flags: JsonFlag, cli: CliContext) =>
  changeAttachment(place, 'detach', { flags, cli })

const changeAttachment = (
  { agent: named, tool: which }: Place,
  verb: 'attach' | 'detach',
  { flags, cli }: { flags: JsonFlag; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(named, context)
    const tool = await requireToolNamed(which, context)
    await api.request('PATCH', `/v1/agents/${agent.id}/tools/${verb}/${tool.id}`)
    const [done, to] = verb === 'attach' ? ['Attached', 'to'] : ['Detached', 'from']
    printResult(cli, flags, {
      sentence: `${done} ${safeName(tool.name)} ${to} ${safeName(agent.name)}.`,
      value: { tool: tool.name, tool_id: tool.id, agent_id: agent.id, attached: verb === 'attach' },
    })
  })

/** Runs a tool as the agent would, without a model. The command itself is the approval. */
export const run = (
  which: string,
  flags: JsonFlag & { agent: string; args?: string },
  cli: CliContext,
): Promise<number> =>
  withHome(cli, 'turns', async ({ context, api }) => {
    const agent = await requireAgent(flags.agent, context)
    const tool = pickOne(await toolsOf(agent, context), which, {
      prefix: 'tool',
      noun: `tool of ${agent.name}`,
      lister: `tools list --agent ${agent.id}`,
    })
    const path = `/v1/agents/${agent.id}/tools/${encodeURIComponent(tool.name)}/run`
    return printRan(await api.request<RanTool>('POST', path, { args: parseArguments(flags.args) }), flags, cli)
  })

export type RanTool = { status: 'success' | 'error'; func_return: string }

/** Exit code 1 if the tool failed. */
export function printRan({ status, func_return: output }: RanTool, flags: JsonFlag, { out }: CliContext): number {
  if (flags.json) printJson(out, { status, output })
  else out.line(out.look.canRedraw ? safeText(output) : output)
  return status === 'success' ? 0 : 1
}

export function parseArguments(text = '{}'): Record<string, Json> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, Json>
  } catch {
    // Refused below, like any other value that is not an object.
  }
  throw new Problem(
    'invalid',
    `--args must be a JSON object, for example --args '{"city":"Bergen"}', not "${text.slice(0, 200)}".`,
  )
}

export const approval = (
  { agent: named, tool: which }: Place,
  answer: string,
  { flags, cli }: { flags: JsonFlag; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(named, context)
    const tool = await requireToolNamed(which, context)
    const isRequired = switchOf('The last argument', answer)
    const path = `/v1/agents/${agent.id}/tools/approval/${encodeURIComponent(tool.name)}`
    await api.request('PATCH', path, { requires_approval: isRequired })
    printResult(cli, flags, {
      sentence: `Calls of ${safeName(tool.name)} by ${safeName(agent.name)} ${isRequired ? 'need' : 'do not need'} approval.`,
      value: { tool: tool.name, agent_id: agent.id, needs_approval: isRequired },
    })
  })

type AddFlags = JsonFlag & { description?: string; tag?: string[]; approval?: boolean }

/** Stores the source of a tool, replacing the tool with the same name. */
export const add = (path: string, flags: AddFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const body = {
      source_code: readSource(path),
      source_type: extname(path) === '.ts' ? 'typescript' : 'python',
      ...defined({ description: flags.description, tags: flags.tag, default_requires_approval: flags.approval }),
    }
    const { id } = await api.request<{ id: string }>('PUT', '/v1/tools/', body)
    const tool = await requireToolNamed(id, context)
    printResult(cli, flags, { sentence: `Stored ${safeName(tool.name)} (${tool.id}).`, value: toolJson(tool) })
  })

function readSource(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (fault) {
    throw new Problem('not-found', `The file ${path} cannot be read (${(fault as NodeJS.ErrnoException).code}).`)
  }
}

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const tool = await requireToolNamed(which, context)
    const users = await agentsWith(tool, context)
    const what = `the tool ${safeName(tool.name)} (${tool.id})`
    const names = users.map(({ name }) => safeName(name)).join(', ')
    const consequence = users.length === 0 ? 'No agent has it.' : `${names} can no longer call it.`
    if (!(await confirmRemoval({ verb: 'Delete', what, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/tools/${tool.id}`)
    printResult(cli, flags, { sentence: `Deleted ${what}.`, value: { id: tool.id, name: tool.name, deleted: true } })
    return 0
  })

const MOST = 1_000

const agentsWith = async ({ name }: StoredTool, context: ServiceContext): Promise<Agent[]> =>
  (await searchAgents({}, { limit: MOST, order: 'asc' }, context)).filter(({ tools }) => tools.includes(name))

const requireToolNamed = async (which: string, context: ServiceContext): Promise<StoredTool> =>
  pickOne(await listTools(context), which, { prefix: 'tool', noun: 'tool', lister: 'tools' })

const toolJson = (tool: StoredTool, agent?: Agent) => ({
  id: tool.id,
  name: tool.name,
  type: tool.toolType,
  description: tool.description,
  needs_approval: needsApproval(tool, agent),
  tags: tool.tags,
  json_schema: tool.jsonSchema,
})
