import { z } from 'zod'
import { BASE_TOOLS } from '../../core/base-tools.ts'
import type { ToolId } from '../../core/id.ts'
import type { AgentFilter } from '../../ports/agent-store.ts'
import { countAgents, deleteAgent, searchAgents, updateAgent } from '../../service/agents/agents.ts'
import { createAgent } from '../../service/agents/create-agent.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { recompilePrompt } from '../../service/conversations/prompt.ts'
import type { Desk } from '../../service/desk.ts'
import { requireTool } from '../../service/tools/tools.ts'
import { flag, listOf } from '../field.ts'
import { operation } from '../operation.ts'
import { listQuery, pageOf } from '../paging.ts'
import { agentPath, requireAgent } from './addressed.ts'
import { agentChangeBody, modelIn, newAgentBody, secretsIn, settingsFrom } from './agent-body.ts'
import { CANCEL_WAIT_MS } from './cancel.ts'
import { requireModel } from './model-handle.ts'
import { newInput } from './send-body.ts'
import { agentSchema } from './wire/agent-schema.ts'
import { agentState, agentStates, EVERYTHING, includeOnly, includesOf } from './wire/agent-state.ts'
import { newBlockFrom } from './wire/block.ts'
import { contextOverview, contextSchema } from './wire/context.ts'
import { deletedSchema } from './wire/deleted.ts'

const SORTS = ['created_at', 'updated_at', 'last_run_completion'] as const

const agentListQuery = listQuery().extend({
  ...includeOnly.shape,
  name: z.string().optional().describe('Agents of exactly this name.'),
  query_text: z.string().optional().describe('Agents whose name contains this text.'),
  tags: listOf(z.string(), 16).optional().describe('Agents with any of these tags.'),
  match_all_tags: flag.optional().describe('Agents with all of the tags instead of any.'),
  order_by: z.enum(SORTS).optional().describe('What the list is ordered by.'),
  sort_by: z.enum(SORTS).optional().describe('The older spelling of `order_by`.'),
  last_stop_reason: z.string().optional().describe('Agents whose last run ended for this reason.'),
})

const recompileQuery = z.object({
  dry_run: flag.default(false).describe('Answers with the prompt and keeps the old one.'),
  update_timestamp: flag.optional().describe('Accepted and ignored.'),
})

const createAgentOperation = operation({
  route: 'POST /v1/agents',
  scope: 'agent',
  summary: 'Creates an agent with its memory and tools',
  body: newAgentBody,
  example: {
    name: 'ada',
    model: 'scripted/friendly',
    memory_blocks: [{ label: 'human', value: 'The user is called Ada and likes tea.' }],
  },
  answer: agentSchema,
  async handle({ body }, desk) {
    const base = body.include_base_tools === false ? [] : BASE_TOOLS
    const chosen = await toolNames(body.tool_ids ?? [], desk)
    const secrets = secretsIn(body)
    const agent = await createAgent(
      {
        name: body.name ?? `agent-${desk.world.randomness.uuid().slice(0, 8)}`,
        model: requireModel(modelIn(body), desk),
        ...(body.system ? { system: body.system } : {}),
        tools: [...base, ...(body.tools ?? []), ...chosen],
        unknownTools: 'note',
        settings: { ...settingsFrom(body, {}), agentType: body.agent_type ?? 'letta_v1_agent' },
        blocks: (body.memory_blocks ?? []).map(newBlockFrom),
        blockIds: body.block_ids ?? [],
        tags: body.tags ?? [],
        messages: (body.initial_message_sequence ?? []).map(newInput),
        ...(secrets ? { secrets } : {}),
      },
      desk,
    )
    return agentState(agent, EVERYTHING, desk)
  },
})

const listAgentsOperation = operation({
  route: 'GET /v1/agents',
  scope: 'read',
  summary: 'Lists agents',
  query: agentListQuery,
  answer: z.array(agentSchema),
  async handle({ query, request }, desk) {
    const agents = await searchAgents(filterOf(query), pageOf(query), desk)
    return agentStates(agents, includesOf(query, request.headers), desk)
  },
})

const countAgentsOperation = operation({
  route: 'GET /v1/agents/count',
  scope: 'read',
  summary: 'Counts agents',
  answer: z.int(),
  handle: (_, desk) => countAgents(desk),
})

const showAgent = operation({
  route: 'GET /v1/agents/:agent_id',
  scope: 'read',
  summary: 'Shows an agent, with the parts that are asked for',
  params: agentPath,
  query: includeOnly,
  answer: agentSchema,
  handle: async ({ params, query, request }, desk) =>
    agentState(await requireAgent(params.agent_id, desk), includesOf(query, request.headers), desk),
})

const changeAgent = operation({
  route: 'PATCH /v1/agents/:agent_id',
  scope: 'agent',
  summary: 'Changes an agent; fields that are left out stay as they are',
  params: agentPath,
  body: agentChangeBody,
  example: { description: 'Answers questions about tea.' },
  answer: agentSchema,
  async handle({ params, body }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    const model = modelIn(body)
    const secrets = secretsIn(body)
    const updated = await updateAgent(
      {
        agent,
        ...(body.name ? { name: body.name } : {}),
        ...(body.system === null || body.system === undefined ? {} : { system: body.system }),
        ...(model === undefined ? {} : { model: requireModel(model, desk) }),
        ...(body.tool_ids ? { tools: await toolNames(body.tool_ids, desk) } : {}),
        ...(body.tags ? { tags: body.tags } : {}),
        ...(body.block_ids ? { blockIds: body.block_ids } : {}),
        settings: (before) => settingsFrom(body, before),
        ...(secrets ? { secrets } : {}),
      },
      desk,
    )
    return agentState(updated, EVERYTHING, desk)
  },
})

const removeAgent = operation({
  route: 'DELETE /v1/agents/:agent_id',
  scope: 'agent',
  summary: 'Cancels the runs of an agent and deletes it with its conversations',
  params: agentPath,
  answer: deletedSchema,
  async handle({ params }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    await deleteAgent(agent, desk, AbortSignal.timeout(CANCEL_WAIT_MS))
    return { message: `Agent id=${agent.id} successfully deleted` }
  },
})

const showContext = operation({
  route: 'GET /v1/agents/:agent_id/context',
  scope: 'read',
  summary: 'Shows what the model sees now, and how large it is',
  params: agentPath,
  answer: contextSchema,
  handle: async ({ params }, desk) => contextOverview(await requireAgent(params.agent_id, desk), desk),
})

const recompile = operation({
  route: 'POST /v1/agents/:agent_id/recompile',
  scope: 'agent',
  summary: 'Compiles the system prompt from the memory as it is now',
  params: agentPath,
  query: recompileQuery,
  answer: z.string().describe('The system prompt.'),
  async handle({ params, query }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    const { id: conversationId } = await requireConversation(agent, undefined, desk)
    return recompilePrompt({ conversationId, dryRun: query.dry_run }, desk)
  },
})

export const agentOperations = [
  createAgentOperation,
  listAgentsOperation,
  countAgentsOperation,
  showAgent,
  changeAgent,
  removeAgent,
  showContext,
  recompile,
]

function filterOf(query: z.output<typeof agentListQuery>): AgentFilter {
  const sortBy = query.order_by ?? query.sort_by
  return {
    ...(query.name ? { name: query.name } : {}),
    ...(query.query_text ? { text: query.query_text } : {}),
    ...(query.tags ? { tags: query.tags, allTags: query.match_all_tags ?? false } : {}),
    ...(query.last_stop_reason
      ? { lastStopReason: query.last_stop_reason as NonNullable<AgentFilter['lastStopReason']> }
      : {}),
    ...(sortBy ? { sortBy } : {}),
  }
}

async function toolNames(ids: readonly ToolId[], desk: Desk): Promise<string[]> {
  const names: string[] = []
  for (const id of ids) names.push((await requireTool(id, desk)).name)
  return names
}
