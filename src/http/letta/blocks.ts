import { z } from 'zod'
import { searchAgents } from '../../service/agents/agents.ts'
import { createBlock, deleteBlock, listBlocks, requireBlock, updateBlock } from '../../service/memory/blocks.ts'
import type { Routes } from '../routes.ts'
import { listQuery, pageOf } from './list-query.ts'
import { flag, idIn, parsed, texts } from './parse.ts'
import { agentStates, includeQuery, includesOf } from './wire/agent-state.ts'
import { blockChangeBody, changeFrom, newBlockBody, newBlockFrom, wireBlock } from './wire/block.ts'

const blockListQuery = listQuery().extend({
  label: z.string().optional(),
  name: z.string().optional(),
  label_search: z.string().optional(),
  value_search: z.string().optional(),
  description_search: z.string().optional(),
  templates_only: flag.optional(),
  tags: texts.pipe(z.array(z.string()).max(16)).optional(),
  match_all_tags: flag.optional(),
  connected_to_agents_count_gt: z.coerce.number().int().optional(),
  connected_to_agents_count_lt: z.coerce.number().int().optional(),
})

export function registerBlockRoutes(routes: Routes): void {
  routes.post(
    '/v1/blocks',
    async ({ body }, desk) => wireBlock(await createBlock(newBlockFrom(parsed(newBlockBody, body, 'body')), desk)),
    { body: newBlockBody },
  )

  routes.get(
    '/v1/blocks',
    async ({ query }, desk) => {
      const asked = parsed(blockListQuery, query, 'query')
      const blocks = await listBlocks(filterOf(asked), pageOf(asked), desk)
      return blocks.map(wireBlock)
    },
    { query: blockListQuery },
  )

  routes.get('/v1/blocks/:block_id', async ({ params }, desk) =>
    wireBlock(await requireBlock(idIn.block(params), desk)),
  )

  routes.patch(
    '/v1/blocks/:block_id',
    async ({ params, body }, desk) =>
      wireBlock(await updateBlock(idIn.block(params), changeFrom(parsed(blockChangeBody, body, 'body')), desk)),
    { body: blockChangeBody },
  )

  routes.delete('/v1/blocks/:block_id', async ({ params }, desk, reply) => {
    await deleteBlock(idIn.block(params), desk)
    return reply.type('application/json').send('null')
  })

  routes.get('/v1/blocks/:block_id/agents', async ({ params, query, headers }, desk) => {
    const block = await requireBlock(idIn.block(params), desk)
    const asked = parsed(listQuery().extend(includeQuery), query, 'query')
    const agents = await searchAgents({ blockId: block.id }, pageOf(asked), desk)
    return agentStates(agents, includesOf(asked, headers), desk)
  })
}

function filterOf(asked: z.output<typeof blockListQuery>) {
  const { label, name, tags } = asked
  return {
    ...(label ? { label } : {}),
    ...(name ? { name } : {}),
    ...(asked.label_search ? { labelText: asked.label_search } : {}),
    ...(asked.value_search ? { valueText: asked.value_search } : {}),
    ...(asked.description_search ? { descriptionText: asked.description_search } : {}),
    ...(asked.templates_only ? { isTemplate: true } : {}),
    ...(tags ? { tags, allTags: asked.match_all_tags ?? false } : {}),
    ...(asked.connected_to_agents_count_gt === undefined ? {} : { agentsOver: asked.connected_to_agents_count_gt }),
    ...(asked.connected_to_agents_count_lt === undefined ? {} : { agentsUnder: asked.connected_to_agents_count_lt }),
  }
}
