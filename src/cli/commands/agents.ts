import type { Agent } from '../../core/agent.ts'
import { type CommandApproval, DEFAULT_COMMAND_APPROVAL } from '../../core/command-approval.ts'
import { defined } from '../../core/defined.ts'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { type SessionExpiry, sessionExpiryText } from '../../core/session-expiry.ts'
import { parseTarget } from '../../core/target.ts'
import { type AgentFootprint, agentFootprint } from '../../service/agents/agent-footprint.ts'
import { agentsNamed, listAgents, requireAgent, tagsOf } from '../../service/agents/agents.ts'
import { keyAdvice, listProviders } from '../../service/providers/providers.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type AgentFlags, agentBody, keepingStored, withoutRemovals } from '../agent-fields.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine, runnable } from '../program-name.ts'
import { ageText, count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { safeName, safeText } from '../terminal.ts'

/** `--no-fallback` is `false`. */
type ChainFlags = { model?: string[]; fallback?: string[] | false; name?: string }
type CreateFlags = AgentFlags & ChainFlags & JsonFlag & { force?: boolean; block?: string[] }
/** Commander sets `sessionExpiry`, to false with `--no-session-expiry`. */
type UpdateFlags = AgentFlags & ChainFlags & JsonFlag & { sessionExpiry?: boolean }

export const listAll = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const agents = await listAgents(context)
    if (json) return printJson(out, await Promise.all(agents.map((agent) => agentJson(agent, context))))
    if (agents.length === 0) return out.line(`No agents yet. \`${commandLine('chat')}\` creates the first one.`)
    const now = context.deps.clock.now()
    printTable(
      agents,
      [
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'MODEL', text: ({ model }) => model, shrinksTo: 12 },
        { title: 'TOOLS', text: ({ tools }) => `${tools.length}`, align: 'right' },
        { title: 'AGE', text: ({ createdAt }) => ageText(now - createdAt) },
        { title: 'DESCRIPTION', text: ({ settings }) => settings?.description ?? '', shrinksTo: 11, longest: 100 },
      ],
      out,
    )
  })

export const create = (name: string, flags: CreateFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const [taken] = flags.force ? [] : await agentsNamed(name, context)
    if (taken)
      throw new Problem(
        'conflict',
        `There is an agent named "${name}" already (${taken.id}). Choose another name, or add --force to have two with one name.`,
      )
    const { model: models, fallback } = chainOf(flags)
    const model = models ?? context.defaults.model
    const body = withoutRemovals(agentBody(flags, { model }))
    const blocks = flags.block?.map(newBlock)
    const request = { name, model, ...defined({ fallback, memory_blocks: blocks }), ...body }
    const { id } = await api.request<{ id: string }>('POST', '/v1/holdfast/agents', request)
    const agent = await requireAgent(id, context)
    printResult(cli, flags, {
      sentence: `Created ${safeName(agent.name)} (${agent.id}).`,
      value: await agentJson(agent, context),
    })
    await warnWithoutKey(agent, context, cli)
  })

export const update = (idOrName: string, flags: UpdateFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const before = await requireAgent(idOrName, context)
    const chain = chainOf(flags)
    const fields = agentBody(flags, { model: chain.model ?? before.model })
    const expiry = flags.sessionExpiry === false ? { session_expiry: null } : {}
    const change = keepingStored(fields, before.settings?.wire)
    const body = { ...defined({ name: flags.name, ...chain }), ...expiry, ...change }
    if (Object.keys(body).length === 0)
      throw new Problem(
        'invalid',
        `Nothing to change. \`${commandLine('agents update --help')}\` lists what can be changed.`,
      )
    await api.request('PATCH', `/v1/agents/${before.id}`, body)
    const agent = await requireAgent(before.id, context)
    const shown = [agent.model, ...agent.fallback].join(' → ')
    printResult(cli, flags, {
      sentence: `Updated ${safeName(agent.name)} (${agent.id}): ${changeText(body, shown)}.`,
      value: await agentJson(agent, context),
    })
    if (chain.model !== undefined || chain.fallback !== undefined) await warnWithoutKey(agent, context, cli)
  })

/** The names of the changed fields; the chain is shown whole, because its order matters. */
function changeText(body: JsonObject, chain: string): string {
  const { model, fallback, model_settings, compaction_settings, ...others } = body
  const parts = [
    ...Object.keys(others),
    ...Object.keys((model_settings ?? {}) as JsonObject),
    ...Object.keys((compaction_settings ?? {}) as JsonObject).map((name) => `compaction ${name}`),
  ]
  return [...(model !== undefined || fallback !== undefined ? [chain] : []), ...parts].join(', ') || 'settings removed'
}

function chainOf({ model: models, fallback }: ChainFlags): { model?: string; fallback?: string[] } {
  const [model, ...more] = models ?? []
  const listed = fallback === false ? [] : fallback
  const chain = more.length > 0 ? [...more, ...(listed ?? [])] : listed
  return defined({ model, fallback: chain })
}

function newBlock(text: string): { label: string; value: string } {
  const at = text.indexOf('=')
  if (at > 0) return { label: text.slice(0, at), value: text.slice(at + 1) }
  throw new Problem('invalid', `--block must be label=text, for example --block human="Likes tea.", not "${text}".`)
}

/** A turn would fail with the same advice; here it is in time. */
async function warnWithoutKey(
  { model, fallback }: Agent,
  context: ServiceContext,
  { notes }: CliContext,
): Promise<void> {
  const providers = await listProviders(context)
  const used = new Set([model, ...fallback].map((handle) => parseTarget(handle)?.provider))
  for (const entry of providers)
    if (used.has(entry.name) && (entry.state === 'no-key' || entry.state === 'not-configured'))
      notes.line(`  ${entry.name} has no API key yet. ${runnable(keyAdvice(entry, context))}`)
}

export const show = (idOrName: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const agent = await requireAgent(idOrName, context)
    if (json) return printJson(out, await agentJson(agent, context))
    const { id, name, model, fallback, tools, system, createdAt, settings = {} } = agent
    const asJson = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value))
    out.line(`${out.look.paint.bold(safeName(name))} (${id})`)
    printFields(
      [
        ['models', [model, ...fallback].join(' → ')],
        ['tools', tools.join(', ') || 'none'],
        ['missing tools', settings.missingTools?.join(', ')],
        ['approval', approvalsText(settings.approvals)],
        ['tags', (await tagsOf(agent, context)).map(safeName).join(', ')],
        ['description', settings.description && safeText(settings.description)],
        ['settings', asJson(settings.wire?.model_settings)],
        ['compaction', asJson(settings.wire?.compaction_settings)],
        ['busy', settings.whenBusy ?? 'the default of each request'],
        ['sessions', sessionExpiryText(settings.sessionExpiry)],
        ['commands', commandApprovalText(settings.commandApproval)],
        ['has', footprintText(await agentFootprint(agent, context))],
        ['created', timeJson(createdAt) ?? ''],
        ['system', safeText(system)],
      ],
      out,
    )
  })

const footprintText = ({ conversations, messages, passages, blocks }: AgentFootprint): string =>
  [
    `${count(conversations, 'conversation')} with ${count(messages, 'message')}`,
    count(passages, 'passage'),
    `${count(blocks, 'memory block')}`,
  ].join(', ')

function approvalsText(approvals: Record<string, boolean> = {}): string | undefined {
  const named = (isRequired: boolean) =>
    Object.entries(approvals)
      .filter(([, one]) => one === isRequired)
      .map(([tool]) => safeText(tool))
  const parts = [
    named(true).length > 0 ? `needed for ${named(true).join(', ')}` : '',
    named(false).length > 0 ? `not needed for ${named(false).join(', ')}` : '',
  ]
  return parts.filter(Boolean).join('; ')
}

const commandApprovalText = (which: CommandApproval = DEFAULT_COMMAND_APPROVAL): string =>
  ({
    ask: 'every command waits for approval',
    destructive: 'those that destroy or cannot be read wait for approval',
    never: 'none waits for approval in a sandbox',
  })[which]

export const remove = (idOrName: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(idOrName, context)
    const what = `${safeName(agent.name)} (${agent.id})`
    const footprint = await agentFootprint(agent, context)
    const { conversations, messages, passages } = footprint
    const consequence = `This also deletes ${count(conversations, 'conversation')} with ${count(messages, 'message')}, all runs, ${count(passages, 'passage')} and the workspaces. Memory blocks that were made with it go too, unless other agents have them; tools stay.`
    if (!(await confirmRemoval({ verb: 'Delete', what, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/agents/${agent.id}`)
    printResult(cli, flags, {
      sentence: `Deleted ${what}, with ${count(footprint.conversations, 'conversation')}.`,
      value: { id: agent.id, name: agent.name, deleted: true },
    })
    return 0
  })

const agentJson = async (agent: Agent, context: ServiceContext) => {
  const { id, name, model, fallback, tools, system, createdAt, settings = {} } = agent
  return {
    id,
    name,
    model,
    fallback,
    tools,
    system,
    description: settings.description ?? null,
    tags: await tagsOf(agent, context),
    approvals: settings.approvals ?? {},
    model_settings: settings.wire?.model_settings ?? null,
    compaction_settings: settings.wire?.compaction_settings ?? null,
    when_busy: settings.whenBusy ?? null,
    session_expiry: settings.sessionExpiry ? expiryJson(settings.sessionExpiry) : null,
    command_approval: settings.commandApproval ?? null,
    created_at: timeJson(createdAt),
  }
}

const expiryJson = ({ idleMinutes, dailyAt, timezone }: SessionExpiry) => ({
  idle_minutes: idleMinutes ?? null,
  daily_at: dailyAt ?? null,
  timezone: timezone ?? null,
})
