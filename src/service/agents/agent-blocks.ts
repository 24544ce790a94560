import type { Agent } from '../../core/agent.ts'
import type { Block } from '../../core/block.ts'
import type { BlockId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { AttachResult } from '../../ports/block-store.ts'
import type { ServiceContext } from '../service-context.ts'

export const blocksOf = (agent: Agent, context: ServiceContext): Promise<Block[]> =>
  context.deps.store.blocks.ofAgent(context.organizationId, agent.id)

export async function requireBlockOf(agent: Agent, label: string, context: ServiceContext): Promise<Block> {
  const block = (await blocksOf(agent, context)).find((one) => one.label === label)
  if (block) return block
  throw new Problem('not-found', `Agent ${agent.name} has no block labeled "${label}".`)
}

/** Idempotent: attaching an attached block changes nothing. */
export async function attachBlock(agent: Agent, blockId: BlockId, context: ServiceContext): Promise<void> {
  const attached: AttachResult = await context.deps.store.blocks.attach(context.organizationId, agent.id, blockId)
  switch (attached) {
    case 'attached':
    case 'already':
      return
    case 'label-taken':
      throw new Problem('conflict', `Agent ${agent.name} already has another block with the same label.`)
    case 'not-found':
      throw new Problem('not-found', `There is no block "${blockId}".`)
  }
}

export async function detachBlock(agent: Agent, blockId: BlockId, context: ServiceContext): Promise<void> {
  if (!(await context.deps.store.blocks.detach(context.organizationId, agent.id, blockId)))
    throw new Problem('not-found', `Block ${blockId} is not attached to agent ${agent.name}.`)
}
