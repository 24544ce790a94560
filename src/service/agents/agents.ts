import type { Agent, AgentSettings } from '../../core/agent.ts'
import { cleanText } from '../../core/block.ts'
import { type BlockId, parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { AgentFilter } from '../../ports/agent-store.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Desk } from '../desk.ts'
import { cancelRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import { closeConversations } from '../workspaces/end-processes.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { blocksNamed, requireHandle, withoutTwins } from './create-agent.ts'

/** By id or by name; an agent of another organization looks like one that does not exist. */
export async function requireAgent(idOrName: string, desk: Desk): Promise<Agent> {
  const { agents } = desk.world.store
  const id = parseId('agent', idOrName)
  const agent = id ? await agents.get(desk.organizationId, id) : await agents.findByName(desk.organizationId, idOrName)
  if (agent) return agent
  throw new Problem('not-found', `There is no agent "${idOrName}". \`holdfast agents\` lists them.`)
}

export const listAgents = (desk: Desk): Promise<Agent[]> =>
  desk.world.store.agents.list(desk.organizationId, { limit: 100 })

export async function searchAgents(filter: AgentFilter, page: ListPage, desk: Desk): Promise<Agent[]> {
  const agents = await desk.world.store.agents.search(desk.organizationId, filter, page)
  if (agents) return agents
  throw new Problem('not-found', `There is no agent ${page.after ?? page.before} to go on from.`)
}

export const countAgents = (desk: Desk): Promise<number> => desk.world.store.agents.count(desk.organizationId)

export const tagsOf = async (agent: Agent, desk: Desk): Promise<string[]> =>
  (await desk.world.store.tags.ofAgents(desk.organizationId, [agent.id])).get(agent.id) ?? []

export const listTags = (query: Parameters<Desk['world']['store']['tags']['list']>[1], desk: Desk): Promise<string[]> =>
  desk.world.store.tags.list(desk.organizationId, query)

/** What is not named stays as it is. */
type UpdateAgent = {
  agent: Agent
  name?: string
  system?: string
  model?: string
  /** Names that are known to exist. */
  tools?: string[]
  tags?: string[]
  blockIds?: BlockId[]
  settings?(settings: AgentSettings): AgentSettings
  /** In place of all it had. */
  secrets?: Secrets
}

/** Turns that run go on as they began; the next one sees the change. */
export async function updateAgent(request: UpdateAgent, desk: Desk): Promise<Agent> {
  const { agent, name, system, model, tools, tags, blockIds, settings, secrets } = request
  const trimmed = name === undefined ? undefined : cleanText(name).trim()
  if (trimmed === '') throw new Problem('invalid', 'An agent needs a name.')
  const handle = model === undefined ? undefined : requireHandle(model)
  const blocks = blockIds && withoutTwins(await blocksNamed(blockIds, desk))
  const sealed = secrets && sealSecrets(agent.id, secrets, desk)
  const now = desk.world.clock.now()
  const updated = await desk.world.store.agents.update(desk.organizationId, agent.id, {
    edit(before) {
      const edited: Agent = {
        ...before,
        ...(trimmed === undefined ? {} : { name: trimmed }),
        ...(system === undefined ? {} : { system: cleanText(system) }),
        ...(handle ? { model: handle } : {}),
        ...(tools ? { tools: [...new Set(tools)] } : {}),
        ...(settings ? { settings: settings(before.settings ?? {}) } : {}),
        updatedAt: now,
      }
      return secrets ? withSecrets(edited, sealed) : edited
    },
    ...(tags ? { tags } : {}),
    ...(blocks ? { blockIds: blocks.map(({ id }) => id) } : {}),
    // Other words or other blocks are another prompt; a block that only changed its value is not.
    recompiles: system !== undefined || blocks !== undefined,
  })
  if (updated) return updated
  throw new Problem('not-found', `There is no agent ${agent.id}.`)
}

const STATUSES: ('created' | 'running')[] = ['created', 'running']

/**
 * What still runs is cancelled and heard out, so that its tools and models have stopped; then all rows are gone at once,
 * then what its conversations kept warm and their workspaces. A run that does not end before the signal is not waited
 * for: its worker finds its lease gone.
 */
export async function deleteAgent(agent: Agent, desk: Desk, signal: AbortSignal): Promise<void> {
  const { store } = desk.world
  const { organizationId } = desk
  for (;;) {
    const active = await store.runs.list(organizationId, { agentId: agent.id, statuses: STATUSES }, { limit: 100 })
    for (const { id } of active) await unlessOver(cancelRun(id, desk))
    if (active.length === 0 || signal.aborted) break
    await Promise.all(active.map(({ id }: { id: RunId }) => unlessOver(waitForRun(id, desk, signal))))
  }
  const conversations = await store.conversations.list(organizationId, agent.id)
  if (!(await store.agents.delete(organizationId, agent.id)))
    throw new Problem('not-found', `There is no agent ${agent.id}.`)
  await closeConversations(
    conversations.map(({ id }) => id),
    desk,
  )
}

/** The run may end by itself meanwhile, or be deleted by another request. */
async function unlessOver(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
  }
}
