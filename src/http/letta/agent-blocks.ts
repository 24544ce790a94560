import { z } from 'zod'
import { attachBlock, blocksOf, detachBlock, requireBlockOf } from '../../service/agents/agent-blocks.ts'
import { updateBlock } from '../../service/memory/blocks.ts'
import { operation } from '../operation.ts'
import { ownedQuery, paged } from '../paging.ts'
import { agentPath, blockPath, requireAgent } from './path-params.ts'
import { agentSchema, memorySchema } from './wire/agent-schema.ts'
import { ALL_PARTS, agentState, allPartsFor } from './wire/agent-state.ts'
import { blockChangeBody, blockSchema, changeFrom, wireBlock } from './wire/block.ts'

const labelPath = { ...agentPath, label: z.string().describe('The label of the block, such as `human`.') }

const listAgentBlocks = operation({
  route: 'GET /v1/agents/:agent_id/core-memory/blocks',
  scope: 'read',
  summary: 'Lists the memory blocks of an agent',
  params: agentPath,
  query: ownedQuery,
  answer: z.array(blockSchema),
  async handle({ params, query }, context) {
    const blocks = await blocksOf(await requireAgent(params.agent_id, context), context)
    return paged(blocks, query).map(wireBlock)
  },
})

const showAgentBlock = operation({
  route: 'GET /v1/agents/:agent_id/core-memory/blocks/:label',
  scope: 'read',
  summary: 'Shows a memory block of an agent by its label',
  params: labelPath,
  answer: blockSchema,
  handle: async ({ params }, context) =>
    wireBlock(await requireBlockOf(await requireAgent(params.agent_id, context), params.label, context)),
})

const changeAgentBlock = operation({
  route: 'PATCH /v1/agents/:agent_id/core-memory/blocks/:label',
  scope: 'agent',
  summary: 'Updates a memory block of an agent by its label',
  params: labelPath,
  body: blockChangeBody,
  example: { value: 'The user is called Ada and likes coffee.' },
  answer: blockSchema,
  async handle({ params, body }, context) {
    const block = await requireBlockOf(await requireAgent(params.agent_id, context), params.label, context)
    return wireBlock(await updateBlock(block.id, changeFrom(body), context))
  },
})

const attachAgentBlock = operation({
  route: 'PATCH /v1/agents/:agent_id/core-memory/blocks/attach/:block_id',
  scope: 'agent',
  summary: 'Attaches a block to an agent',
  params: { ...agentPath, ...blockPath },
  answer: agentSchema,
  async handle({ params, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await attachBlock(agent, params.block_id, context)
    return agentState(await requireAgent(agent.id, context), allPartsFor(request.headers), context)
  },
})

const detachAgentBlock = operation({
  route: 'PATCH /v1/agents/:agent_id/core-memory/blocks/detach/:block_id',
  scope: 'agent',
  summary: 'Detaches a block from an agent',
  params: { ...agentPath, ...blockPath },
  answer: agentSchema,
  async handle({ params, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await detachBlock(agent, params.block_id, context)
    return agentState(await requireAgent(agent.id, context), allPartsFor(request.headers), context)
  },
})

const showMemory = operation({
  route: 'GET /v1/agents/:agent_id/core-memory',
  scope: 'read',
  summary: 'Shows the memory of an agent',
  params: agentPath,
  answer: memorySchema,
  handle: async ({ params }, context) =>
    (await agentState(await requireAgent(params.agent_id, context), ALL_PARTS, context)).memory,
})

export const agentBlockOperations = [
  listAgentBlocks,
  showAgentBlock,
  changeAgentBlock,
  attachAgentBlock,
  detachAgentBlock,
  showMemory,
]
