import type { Agent } from '../../core/agent.ts'
import type { Block } from '../../core/block.ts'
import type { BlockId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Attached } from '../../ports/block-store.ts'
import type { Desk } from '../desk.ts'

export const blocksOf = (agent: Agent, desk: Desk): Promise<Block[]> =>
  desk.world.store.blocks.ofAgent(desk.organizationId, agent.id)

export async function requireBlockOf(agent: Agent, label: string, desk: Desk): Promise<Block> {
  const block = (await blocksOf(agent, desk)).find((one) => one.label === label)
  if (block) return block
  throw new Problem('not-found', `Agent ${agent.name} has no block labelled "${label}".`)
}

/** Attaching what is attached changes nothing. */
export async function attachBlock(agent: Agent, blockId: BlockId, desk: Desk): Promise<void> {
  const attached: Attached = await desk.world.store.blocks.attach(desk.organizationId, agent.id, blockId)
  switch (attached) {
    case 'attached':
    case 'already':
      return
    case 'label-taken':
      throw new Problem('conflict', `Agent ${agent.name} has another block of the same label.`)
    case 'not-found':
      throw new Problem('not-found', `There is no block ${blockId}.`)
  }
}

export async function detachBlock(agent: Agent, blockId: BlockId, desk: Desk): Promise<void> {
  if (!(await desk.world.store.blocks.detach(desk.organizationId, agent.id, blockId)))
    throw new Problem('not-found', `Agent ${agent.name} does not have the block ${blockId}.`)
}
