import { z } from 'zod'
import { BASE_TOOLS } from '../../core/base-tools.ts'
import { type BlockId, parseId, type ToolId } from '../../core/id.ts'
import type { AgentFilter } from '../../ports/memory-store.ts'
import { countAgents, deleteAgent, searchAgents, updateAgent } from '../../service/agents/agents.ts'
import { createAgent } from '../../service/agents/create-agent.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { recompilePrompt } from '../../service/conversations/prompt.ts'
import type { Desk } from '../../service/desk.ts'
import { requireTool } from '../../service/tools/tools.ts'
import type { Routes } from '../routes.ts'
import { agentChangeBody, modelIn, newAgentBody, secretsIn, settingsFrom } from './agent-body.ts'
import { contextOverview } from './agent-context.ts'
import { refuse } from './errors.ts'
import { listQuery, pageOf } from './list-query.ts'
import { CANCEL_WAIT_MS } from './messages.ts'
import { requireModel } from './model-handle.ts'
import { flag, parsed, requireAgent, texts } from './parse.ts'
import { newInput } from './send-body.ts'
import { agentState, agentStates, EVERYTHING, includeOnly, includeQuery, includesOf } from './wire/agent-state.ts'
import { newBlockFrom } from './wire/block.ts'

const SORTS = ['created_at', 'updated_at', 'last_run_completion'] as const

const agentListQuery = listQuery().extend({
  ...includeQuery,
  name: z.string().optional(),
  query_text: z.string().optional(),
  tags: texts.pipe(z.array(z.string()).max(16)).optional(),
  match_all_tags: flag.optional(),
  order_by: z.enum(SORTS).optional(),
  sort_by: z.enum(SORTS).optional(),
  last_stop_reason: z.string().optional(),
})

const recompileQuery = z.object({ dry_run: flag.default(false), update_timestamp: flag.optional() })

export function registerAgentRoutes(routes: Routes): void {
  routes.post(
    '/v1/agents',
    async ({ body }, desk) => {
      const asked = parsed(newAgentBody, body, 'body')
      const agentType = asked.agent_type ?? 'letta_v1_agent'
      const base = asked.include_base_tools === false ? [] : BASE_TOOLS
      const chosen = await namesOf(asked.tool_ids ?? [], desk)
      const secrets = secretsIn(asked)
      const agent = await createAgent(
        {
          name: asked.name ?? `agent-${desk.world.randomness.uuid().slice(0, 8)}`,
          model: requireModel(modelIn(asked), desk),
          ...(asked.system ? { system: asked.system } : {}),
          ...{ tools: [...base, ...(asked.tools ?? []), ...chosen], unknownTools: 'note' },
          settings: { ...settingsFrom(asked, {}), agentType },
          blocks: (asked.memory_blocks ?? []).map(newBlockFrom),
          ...{ blockIds: blockIdsOf(asked.block_ids ?? []), tags: asked.tags ?? [] },
          messages: (asked.initial_message_sequence ?? []).map(newInput),
          ...(secrets ? { secrets } : {}),
        },
        desk,
      )
      return agentState(agent, EVERYTHING, desk)
    },
    { body: newAgentBody },
  )

  routes.get(
    '/v1/agents',
    async ({ query, headers }, desk) => {
      const asked = parsed(agentListQuery, query, 'query')
      const agents = await searchAgents(filterOf(asked), pageOf(asked), desk)
      return agentStates(agents, includesOf(asked, headers), desk)
    },
    { query: agentListQuery },
  )

  routes.get('/v1/agents/count', (_, desk) => countAgents(desk))

  routes.get(
    '/v1/agents/:agent_id',
    async ({ params, query, headers }, desk) => {
      const asked = parsed(includeOnly, query, 'query')
      return agentState(await requireAgent(params, desk), includesOf(asked, headers), desk)
    },
    { query: includeOnly },
  )

  routes.patch(
    '/v1/agents/:agent_id',
    async ({ params, body }, desk) => {
      const agent = await requireAgent(params, desk)
      const asked = parsed(agentChangeBody, body, 'body')
      const model = modelIn(asked)
      const secrets = secretsIn(asked)
      const updated = await updateAgent(
        {
          agent,
          ...(asked.name ? { name: asked.name } : {}),
          ...(asked.system === null || asked.system === undefined ? {} : { system: asked.system }),
          ...(model === undefined ? {} : { model: requireModel(model, desk) }),
          ...(asked.tool_ids ? { tools: await namesOf(asked.tool_ids, desk) } : {}),
          ...(asked.tags ? { tags: asked.tags } : {}),
          ...(asked.block_ids ? { blockIds: blockIdsOf(asked.block_ids) } : {}),
          settings: (before) => settingsFrom(asked, before),
          ...(secrets ? { secrets } : {}),
        },
        desk,
      )
      return agentState(updated, EVERYTHING, desk)
    },
    { body: agentChangeBody },
  )

  routes.delete('/v1/agents/:agent_id', async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    await deleteAgent(agent, desk, AbortSignal.timeout(CANCEL_WAIT_MS))
    return { message: `Agent id=${agent.id} successfully deleted` }
  })

  routes.get('/v1/agents/:agent_id/context', async ({ params }, desk) =>
    contextOverview(await requireAgent(params, desk), desk),
  )

  routes.post(
    '/v1/agents/:agent_id/recompile',
    async ({ params, query }, desk, reply) => {
      const agent = await requireAgent(params, desk)
      const { dry_run: dryRun } = parsed(recompileQuery, query, 'query')
      const { id: conversationId } = await requireConversation(agent, undefined, desk)
      const text = await recompilePrompt({ conversationId, dryRun }, desk)
      return reply.type('application/json').send(JSON.stringify(text))
    },
    { query: recompileQuery },
  )
}

function filterOf(asked: z.output<typeof agentListQuery>): AgentFilter {
  const sortBy = asked.order_by ?? asked.sort_by
  return {
    ...(asked.name ? { name: asked.name } : {}),
    ...(asked.query_text ? { text: asked.query_text } : {}),
    ...(asked.tags ? { tags: asked.tags, allTags: asked.match_all_tags ?? false } : {}),
    ...(asked.last_stop_reason
      ? { lastStopReason: asked.last_stop_reason as NonNullable<AgentFilter['lastStopReason']> }
      : {}),
    ...(sortBy ? { sortBy } : {}),
  }
}

function blockIdsOf(ids: readonly string[]): BlockId[] {
  return ids.map((id, index) => {
    const block = parseId('block', id)
    if (block) return block
    throw refuse(422, `body.block_ids.${index}: must be block- and a lower-case UUID of version 4`)
  })
}

async function namesOf(ids: readonly string[], desk: Desk): Promise<string[]> {
  const names: string[] = []
  for (const [index, text] of ids.entries()) {
    const id: ToolId | undefined = parseId('tool', text)
    if (!id) throw refuse(422, `body.tool_ids.${index}: must be tool- and a lower-case UUID of version 4`)
    names.push((await requireTool(id, desk)).name)
  }
  return names
}
