import type { Agent, AgentSettings } from '../../core/agent.ts'
import { cleanText } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import { type AgentId, type BlockId, parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { AgentFilter } from '../../ports/agent-store.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { withAudit } from '../people/audit.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import { cancelRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import type { ServiceContext } from '../service-context.ts'
import { ambiguous, completedId, MAX_CANDIDATES } from '../short-id.ts'
import { closeConversations } from '../workspaces/end-processes.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import {
  refuseFaultySettings,
  requireBlocks,
  requireMayLoosen,
  requireModelHandle,
  requireUniqueLabels,
} from './create-agent.ts'
import { eraseFiles, runsOfAgent } from './erase-remains.ts'
import { refuseRepeatedTargets, requireFallback } from './model-chain.ts'

/**
 * By id, by name or by the beginning of an id. A name that several agents have is refused. An agent of another organization
 * is reported as not found.
 */
export async function requireAgent(idOrName: string, context: ServiceContext): Promise<Agent> {
  const { agents } = context.deps.store
  const id = parseId('agent', idOrName)
  const agent = id ? await agents.get(context.organizationId, id) : await findNamedAgent(idOrName, context)
  if (agent) return agent
  throw new Problem('not-found', `There is no agent "${idOrName}". \`holdfast agents\` lists them.`)
}

export const findAgent = (id: AgentId, { deps, organizationId }: ServiceContext): Promise<Agent | undefined> =>
  deps.store.agents.get(organizationId, id)

async function findNamedAgent(text: string, context: ServiceContext): Promise<Agent | undefined> {
  const { agents } = context.deps.store
  const [agent, ...more] = await agentsNamed(text, context)
  if (agent && more.length > 0)
    throw ambiguous(
      text,
      [agent, ...more].map(({ id, model }) => `${id} (${model})`),
    )
  if (agent) return agent
  const id = await completedId('agent', text, context)
  return id && agents.get(context.organizationId, id)
}

/** All agents with exactly this name, oldest first, as many as a message can list. */
export async function agentsNamed(name: string, context: ServiceContext): Promise<Agent[]> {
  if (name === '') return []
  const page = { limit: MAX_CANDIDATES, order: 'asc' } as const
  return (await context.deps.store.agents.search(context.organizationId, { name }, page)) ?? []
}

export const listAgents = (context: ServiceContext): Promise<Agent[]> =>
  context.deps.store.agents.list(context.organizationId, { limit: 100 })

export async function searchAgents(filter: AgentFilter, page: ListPage, context: ServiceContext): Promise<Agent[]> {
  const agents = await context.deps.store.agents.search(context.organizationId, filter, page)
  if (agents) return agents
  throw new Problem('not-found', `Unknown cursor "${page.after ?? page.before}". Use the id of an agent in this list.`)
}

export const countAgents = (context: ServiceContext): Promise<number> =>
  context.deps.store.agents.count(context.organizationId)

export const tagsOf = async (agent: Agent, context: ServiceContext): Promise<string[]> =>
  (await context.deps.store.tags.ofAgents(context.organizationId, [agent.id])).get(agent.id) ?? []

export const listTags = (
  query: Parameters<ServiceContext['deps']['store']['tags']['list']>[1],
  context: ServiceContext,
): Promise<string[]> => context.deps.store.tags.list(context.organizationId, query)

/** Absent fields stay unchanged. */
type UpdateAgentRequest = {
  agent: Agent
  name?: string
  system?: string
  model?: string
  /** Replaces the whole chain; an empty one means the default chain of the server. */
  fallback?: readonly string[]
  /** Names of existing tools: the caller checks them. */
  tools?: string[]
  tags?: string[]
  blockIds?: BlockId[]
  settings?(settings: AgentSettings): AgentSettings
  /** Replaces all secrets of the agent. */
  secrets?: Secrets
}

/** Settings that only Holdfast has. */
type OwnSettings = Pick<AgentSettings, 'whenBusy' | 'sessionExpiry' | 'commandApproval' | 'egress'>
type OwnSettingsChange = { [Key in keyof OwnSettings]?: AgentSettings[Key] | null | undefined }

/** Absent fields stay unchanged; null turns a setting off. */
export const withOwnSettings =
  (change: OwnSettingsChange) =>
  ({ whenBusy, sessionExpiry, commandApproval, egress, ...others }: AgentSettings): AgentSettings => ({
    ...others,
    ...defined({
      whenBusy: changedTo(change.whenBusy, whenBusy),
      sessionExpiry: changedTo(change.sessionExpiry, sessionExpiry),
      commandApproval: changedTo(change.commandApproval, commandApproval),
      egress: changedTo(change.egress, egress),
    }),
  })

const changedTo = <T>(change: T | null | undefined, before: T | undefined): T | undefined =>
  change === undefined ? before : (change ?? undefined)

/** Running turns keep their settings; the next turn uses the new ones. */
export async function updateAgent(request: UpdateAgentRequest, context: ServiceContext): Promise<Agent> {
  const { agent, name, system, model, fallback, tools, tags, blockIds, settings, secrets } = request
  const trimmed = name === undefined ? undefined : cleanText(name).trim()
  if (trimmed === '') throw new Problem('invalid', 'An agent needs a name.')
  const handle = model === undefined ? undefined : requireModelHandle(model, context)
  const chain = fallback && requireFallback(fallback, context)
  const blocks = blockIds && requireUniqueLabels(await requireBlocks(blockIds, context))
  const sealed = secrets && sealSecrets(agent.id, secrets, context)
  if (system !== undefined) await requireRoomFor(system, context)
  const now = context.deps.clock.now()
  const updated = await context.deps.store.agents.update(context.organizationId, agent.id, {
    edit(before) {
      const edited: Agent = {
        ...before,
        ...defined({
          name: trimmed,
          system: system === undefined ? undefined : cleanText(system),
          model: handle || undefined,
          fallback: chain,
          tools: tools ? [...new Set(tools)] : undefined,
          settings: settings ? settings(before.settings ?? {}) : undefined,
        }),
        updatedAt: now,
      }
      if (handle || chain) refuseRepeatedTargets(edited)
      if (settings) {
        refuseFaultySettings(edited.settings)
        requireMayLoosen(edited.settings, before.settings, context)
      }
      return secrets ? withSecrets(edited, sealed) : edited
    },
    ...defined({ tags, blockIds: blocks ? blocks.map(({ id }) => id) : undefined }),
    // A new system text or another set of blocks needs a new prompt; a new value of an attached block does not.
    recompiles: system !== undefined || blocks !== undefined,
  })
  if (updated) return updated
  throw new Problem('not-found', `There is no agent "${agent.id}".`)
}

const ACTIVE_STATUSES: ('created' | 'running')[] = ['created', 'running']

/**
 * Cancels the active runs and waits for their end, so that tools and models have stopped; then deletes all rows in one
 * transaction, then cached histories, workspaces, streams and files. A run that has not ended when the signal aborts is not waited for:
 * its worker loses the lease.
 */
export async function deleteAgent(
  agent: Agent,
  context: ServiceContext,
  signal: AbortSignal,
): Promise<{ workspaces: number; files: number }> {
  const { store } = context.deps
  const { organizationId } = context
  for (;;) {
    const active = await store.runs.list(
      organizationId,
      { agentId: agent.id, statuses: ACTIVE_STATUSES },
      { limit: 100 },
    )
    for (const { id } of active) await ignoringProblems(cancelRun(id, context))
    if (active.length === 0 || signal.aborted) break
    await Promise.all(active.map(({ id }: { id: RunId }) => ignoringProblems(waitForRun(id, context, signal))))
  }
  const conversations = await store.conversations.list(organizationId, agent.id)
  const runIds = await runsOfAgent(agent.id, context)
  const remove = () => store.agents.delete(organizationId, agent.id)
  if (!(await withAudit({ verb: 'agent.delete', object: agent.id }, context, remove)))
    throw new Problem('not-found', `There is no agent "${agent.id}".`)
  const workspaces = await closeConversations(
    conversations.map(({ id }) => id),
    context,
  )
  return { workspaces, files: await eraseFiles(agent.id, runIds, context) }
}

/** The run may end by itself in the meantime, or be deleted by another request. */
async function ignoringProblems(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
  }
}
