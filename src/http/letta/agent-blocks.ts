import type { FastifyInstance } from 'fastify'
import { attachBlock, blocksOf, detachBlock, findBlockOf } from '../../service/agent-blocks.ts'
import { updateBlock } from '../../service/blocks.ts'
import type { Desk } from '../../service/desk.ts'
import { findAgent } from '../../service/find-agent.ts'
import { agentState, EVERYTHING } from './agent-state.ts'
import { listQuery, paged } from './list-query.ts'
import { idIn, parsed, requireAgent } from './parse.ts'
import { blockChangeBody, changeFrom, wireBlock } from './wire-block.ts'

const BLOCKS = '/v1/agents/:agent_id/core-memory/blocks'

export function registerAgentBlockRoutes(server: FastifyInstance, desk: Desk): void {
  server.get(BLOCKS, async ({ params, query }) => {
    const blocks = await blocksOf(await requireAgent(params, desk), desk)
    return paged(blocks, parsed(listQuery(1000), { order: 'asc', ...(query as object) }, 'query')).map(wireBlock)
  })

  server.get(`${BLOCKS}/:label`, async ({ params }) =>
    wireBlock(await findBlockOf(await requireAgent(params, desk), labelOf(params), desk)),
  )

  server.patch(`${BLOCKS}/:label`, async ({ params, body }) => {
    const block = await findBlockOf(await requireAgent(params, desk), labelOf(params), desk)
    return wireBlock(await updateBlock(block.id, changeFrom(parsed(blockChangeBody, body, 'body')), desk))
  })

  server.patch(`${BLOCKS}/attach/:block_id`, async ({ params }) => {
    const agent = await requireAgent(params, desk)
    await attachBlock(agent, idIn.block(params), desk)
    return agentState(await findAgent(agent.id, desk), EVERYTHING, desk)
  })

  server.patch(`${BLOCKS}/detach/:block_id`, async ({ params }) => {
    const agent = await requireAgent(params, desk)
    await detachBlock(agent, idIn.block(params), desk)
    return agentState(await findAgent(agent.id, desk), EVERYTHING, desk)
  })

  server.get('/v1/agents/:agent_id/core-memory', async ({ params }) => {
    const agent = await requireAgent(params, desk)
    return (await agentState(agent, EVERYTHING, desk)).memory
  })
}

const labelOf = (params: unknown): string => (params as { label: string }).label
