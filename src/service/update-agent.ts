import type { Agent, AgentSettings } from '../core/agent.ts'
import { cleanText } from '../core/block.ts'
import type { BlockId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { blocksNamed, requireHandle, withoutTwins } from './create-agent.ts'
import type { Desk } from './desk.ts'

/** What is not named stays as it is. */
export type UpdateAgent = {
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
  const kept = secrets && sealSecrets(agent.id, secrets, desk)
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
      return kept ? withSecrets(edited, kept) : edited
    },
    ...(tags ? { tags } : {}),
    ...(blocks ? { blockIds: blocks.map(({ id }) => id) } : {}),
    // Other words or other blocks are another prompt; a block that only changed its value is not.
    recompiles: system !== undefined || blocks !== undefined,
  })
  if (updated) return updated
  throw new Problem('not-found', `There is no agent ${agent.id}.`)
}
