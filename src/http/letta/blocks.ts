import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { searchAgents } from '../../service/agents/agents.ts'
import { createBlock, deleteBlock, listBlocks, requireBlock, updateBlock } from '../../service/memory/blocks.ts'
import { flag, listOf } from '../field.ts'
import { refusedValue } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { builtPage } from '../page-bytes.ts'
import { listQuery, pageOf } from '../paging.ts'
import { blockPath } from './path-params.ts'
import { agentSchema } from './wire/agent-schema.ts'
import { agentStates, includeQuery, includesOf } from './wire/agent-state.ts'
import { blockChangeBody, blockSchema, changeFrom, newBlockBody, newBlockFrom, wireBlock } from './wire/block.ts'

const blockListQuery = listQuery().extend({
  label: z.string().optional().describe('Blocks with exactly this label.'),
  name: z.string().optional().describe('Blocks with exactly this template name.'),
  label_search: z.string().optional().describe('Blocks whose label contains this text.'),
  value_search: z.string().optional().describe('Blocks whose value contains this text.'),
  description_search: z.string().optional().describe('Blocks whose description contains this text.'),
  templates_only: flag.optional().describe('Templates only.'),
  tags: listOf(z.string(), 16).optional().describe('Blocks with any of these tags.'),
  match_all_tags: flag.optional().describe('Blocks with all of the tags instead of any.'),
  connected_to_agents_count_gt: z.coerce
    .number()
    .int()
    .optional()
    .describe('Blocks of more than this number of agents.'),
  connected_to_agents_count_lt: z.coerce
    .number()
    .int()
    .optional()
    .describe('Blocks of fewer than this number of agents.'),
  connected_to_agents_count_eq: refusedValue('send `connected_to_agents_count_gt` and `connected_to_agents_count_lt`.'),
  identity_id: refusedValue('Holdfast has no identities to filter by.'),
  identifier_keys: refusedValue('Holdfast has no identities to filter by.'),
  project_id: refusedValue('Holdfast has no projects to filter by.'),
})

const createBlockOperation = operation({
  route: 'POST /v1/blocks',
  scope: 'agent',
  summary: 'Creates a block that agents can share',
  body: newBlockBody,
  example: { label: 'human', value: 'Ada likes tea.' },
  answer: blockSchema,
  handle: async ({ body }, context) => wireBlock(await createBlock(newBlockFrom(body), context)),
})

const listBlocksOperation = operation({
  route: 'GET /v1/blocks',
  scope: 'read',
  summary: 'Lists blocks',
  query: blockListQuery,
  answer: z.array(blockSchema),
  handle: async ({ query }, context) => (await listBlocks(filterOf(query), pageOf(query), context)).map(wireBlock),
})

const showBlock = operation({
  route: 'GET /v1/blocks/:block_id',
  scope: 'read',
  summary: 'Shows a block',
  params: blockPath,
  answer: blockSchema,
  handle: async ({ params }, context) => wireBlock(await requireBlock(params.block_id, context)),
})

const changeBlock = operation({
  route: 'PATCH /v1/blocks/:block_id',
  scope: 'agent',
  summary: 'Updates a block for all agents that have it',
  params: blockPath,
  body: blockChangeBody,
  example: { value: 'Ada likes coffee.' },
  answer: blockSchema,
  handle: async ({ params, body }, context) => wireBlock(await updateBlock(params.block_id, changeFrom(body), context)),
})

const removeBlock = operation({
  route: 'DELETE /v1/blocks/:block_id',
  scope: 'agent',
  summary: 'Deletes a block and detaches it from all agents',
  params: blockPath,
  answer: z.null(),
  async handle({ params }, context) {
    await deleteBlock(params.block_id, context)
    return null
  },
})

const listAgentsOfBlock = operation({
  route: 'GET /v1/blocks/:block_id/agents',
  scope: 'read',
  summary: 'Lists the agents that have a block',
  params: blockPath,
  query: listQuery().extend(includeQuery.shape),
  answer: z.array(agentSchema),
  async handle({ params, query, request }, context) {
    const block = await requireBlock(params.block_id, context)
    const agents = await searchAgents({ blockId: block.id }, pageOf(query), context)
    const includes = includesOf(query, request.headers)
    return builtPage(agents, query, (some) => agentStates(some, includes, context))
  },
})

export const blockOperations = [
  createBlockOperation,
  listBlocksOperation,
  showBlock,
  changeBlock,
  removeBlock,
  listAgentsOfBlock,
]

function filterOf(query: z.output<typeof blockListQuery>) {
  const { label, name, tags } = query
  return defined({
    label: label || undefined,
    name: name || undefined,
    labelText: query.label_search || undefined,
    valueText: query.value_search || undefined,
    descriptionText: query.description_search || undefined,
    isTemplate: query.templates_only ? true : undefined,
    tags,
    allTags: tags ? (query.match_all_tags ?? false) : undefined,
    agentsOver: query.connected_to_agents_count_gt,
    agentsUnder: query.connected_to_agents_count_lt,
  })
}
