import { attachBlock, blocksOf, detachBlock, requireBlockOf } from '../../service/agents/agent-blocks.ts'
import { requireAgent as requireAgentById } from '../../service/agents/agents.ts'
import { updateBlock } from '../../service/memory/blocks.ts'
import type { Routes } from '../routes.ts'
import { listQuery, paged } from './list-query.ts'
import { idIn, parsed, requireAgent } from './parse.ts'
import { agentState, EVERYTHING } from './wire/agent-state.ts'
import { blockChangeBody, changeFrom, wireBlock } from './wire/block.ts'

const BLOCKS = '/v1/agents/:agent_id/core-memory/blocks'

export function registerAgentBlockRoutes(routes: Routes): void {
  routes.get(BLOCKS, async ({ params, query }, desk) => {
    const blocks = await blocksOf(await requireAgent(params, desk), desk)
    return paged(blocks, parsed(listQuery(1000), { order: 'asc', ...(query as object) }, 'query')).map(wireBlock)
  })

  routes.get(`${BLOCKS}/:label`, async ({ params }, desk) =>
    wireBlock(await requireBlockOf(await requireAgent(params, desk), labelOf(params), desk)),
  )

  routes.patch(
    `${BLOCKS}/:label`,
    async ({ params, body }, desk) => {
      const block = await requireBlockOf(await requireAgent(params, desk), labelOf(params), desk)
      return wireBlock(await updateBlock(block.id, changeFrom(parsed(blockChangeBody, body, 'body')), desk))
    },
    { body: blockChangeBody },
  )

  routes.patch(`${BLOCKS}/attach/:block_id`, async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    await attachBlock(agent, idIn.block(params), desk)
    return agentState(await requireAgentById(agent.id, desk), EVERYTHING, desk)
  })

  routes.patch(`${BLOCKS}/detach/:block_id`, async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    await detachBlock(agent, idIn.block(params), desk)
    return agentState(await requireAgentById(agent.id, desk), EVERYTHING, desk)
  })

  routes.get('/v1/agents/:agent_id/core-memory', async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    return (await agentState(agent, EVERYTHING, desk)).memory
  })
}

const labelOf = (params: unknown): string => (params as { label: string }).label
