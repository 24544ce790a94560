import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Agent, AgentSettings } from '../../core/agent.ts'
import { baseToolsOf, speaksByTool } from '../../core/base-tools.ts'
import { defined } from '../../core/defined.ts'
import type { ToolId } from '../../core/id.ts'
import { windowLimitOf } from '../../core/model-settings.ts'
import { STATUS_OF_STOP, type StopReason } from '../../core/run.ts'
import type { AgentFilter } from '../../ports/agent-store.ts'
import { requireNamedTools } from '../../service/agents/agent-tools.ts'
import { countAgents, deleteAgent, searchAgents, updateAgent } from '../../service/agents/agents.ts'
import { createAgent } from '../../service/agents/create-agent.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { promptOf, recompilePrompt } from '../../service/conversations/prompt.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { requireTool } from '../../service/tools/tools.ts'
import { flag, listOf } from '../field.ts'
import { refusedValue, withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { builtPage } from '../page-bytes.ts'
import { listQuery, pageOf } from '../paging.ts'
import { addWarnings } from '../warnings.ts'
import { agentChangeBody, newAgentBody, requestedModel, requestedSecrets, settingsFrom } from './agent-body.ts'
import { CANCEL_WAIT_MS } from './cancel.ts'
import { renamedHandle, requireModel } from './model-handle.ts'
import { requireOwnVendor } from './model-settings-body.ts'
import { withKnownModels } from './named-models.ts'
import { agentPath, requireAgent } from './path-params.ts'
import { toNewInput } from './send-body.ts'
import { requireRoomForPrompt, windowOf } from './window-limit.ts'
import { agentSchema } from './wire/agent-schema.ts'
import { agentState, agentStates, allPartsFor, includeQuery, includesOf } from './wire/agent-state.ts'
import { newBlockFrom } from './wire/block.ts'
import { contextOverview, contextSchema } from './wire/context.ts'
import { deletedSchema } from './wire/deleted.ts'

const SORTS = ['created_at', 'updated_at', 'last_run_completion'] as const

const agentListQuery = listQuery().extend({
  ...includeQuery.shape,
  name: z.string().optional().describe('Agents with exactly this name.'),
  query_text: z.string().optional().describe('Agents whose name contains this text.'),
  tags: listOf(z.string(), 16).optional().describe('Agents with any of these tags.'),
  match_all_tags: flag.optional().describe('Agents with all of the tags instead of any.'),
  order_by: z.enum(SORTS).optional().describe('Sort key of the list.'),
  sort_by: z.enum(SORTS).optional().describe('Older form of `order_by`.'),
  last_stop_reason: z
    .union([z.enum(Object.keys(STATUS_OF_STOP) as [StopReason, ...StopReason[]]), z.literal('')])
    .optional()
    .describe('Agents whose last run ended for this reason.'),
  identity_id: refusedValue('Holdfast has no identities to filter by.'),
  identifier_keys: refusedValue('Holdfast has no identities to filter by.'),
  project_id: refusedValue('Holdfast has no projects to filter by.'),
  template_id: refusedValue('Holdfast has no templates to filter by.'),
  base_template_id: refusedValue('Holdfast has no templates to filter by.'),
  created_by_id: refusedValue('agents have no creator to filter by.'),
})

const recompileQuery = z.object({
  dry_run: flag.default(false).describe('Returns the new prompt without storing it.'),
  update_timestamp: withoutEffect(flag.optional(), 'the time in the prompt is always that of its compilation.'),
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
  async handle({ body, reply, request }, context) {
    const base = body.include_base_tools === false ? [] : baseToolsOf(body.agent_type)
    const agent = await createAgentFrom(
      {
        ...body,
        agent_type: body.agent_type ?? 'letta_v1_agent',
        tools: [...base, ...(body.tools ?? [])],
        memory_blocks: body.memory_blocks ?? [],
        block_ids: body.block_ids ?? [],
      },
      reply,
      context,
    )
    return agentState(agent, allPartsFor(request.headers), context)
  },
})

/** An agent that speaks by a tool has spoken when it has called it, unless its rules say otherwise. */
const rulesOf = ({ tool_rules, agent_type, include_base_tool_rules: isWanted }: NewAgentBody, tools: string[]) =>
  tool_rules || isWanted === false || !speaksByTool(agent_type) || !tools.includes('send_message')
    ? (tool_rules ?? undefined)
    : [{ type: 'exit_loop' as const, tool_name: 'send_message' }]

type NewAgentBody = z.output<typeof newAgentBody>

/** Creates the agent of a request. Without tools and memory in the body it gets those that `createAgent` chooses. */
export async function createAgentFrom(
  request: NewAgentBody,
  reply: FastifyReply,
  context: ServiceContext,
): Promise<Agent> {
  const { body, warnings } = withKnownModels(request, context)
  const model = requireModel(requestedModel(body), context)
  requireOwnVendor(body, model)
  const chosen = await toolNames(body.tool_ids ?? [], context)
  const named = body.tools || body.tool_ids ? [...(body.tools ?? []), ...chosen] : undefined
  const known = named && (await requireNamedTools(named, context))
  const sent = settingsFrom({ ...body, ...defined({ tool_rules: rulesOf(body, known?.tools ?? []) }) }, {})
  const blockLengths = (body.memory_blocks ?? []).map(({ value }) => value.length)
  const promptLength = blockLengths.reduce((sum, length) => sum + length, body.system?.length ?? 0)
  requireRoomForPrompt(windowLimitOf({ settings: sent }), promptLength, windowField(body))
  const settings = withMissingTools(sent, known?.missingTools ?? [])
  const agent = await createAgent(
    {
      // The end of an id is random; it begins with the time.
      name: body.name ?? `agent-${context.deps.randomness.uuid().slice(-8)}`,
      model,
      settings: { ...settings, ...defined({ agentType: body.agent_type ?? undefined }) },
      tags: body.tags ?? [],
      messages: (body.initial_message_sequence ?? []).map(toNewInput),
      ...defined({
        system: body.system || undefined,
        fallback: body.fallback ?? undefined,
        tools: known ? known.tools : undefined,
        blocks: body.memory_blocks ? body.memory_blocks.map(newBlockFrom) : undefined,
        blockIds: body.block_ids ?? undefined,
        secrets: requestedSecrets(body),
      }),
    },
    context,
  )
  addWarnings(reply, [
    ...warnings,
    ...chainWarnings(body, agent),
    ...toolWarnings(body, agent, known?.missingTools ?? []),
  ])
  return agent
}

const listAgentsOperation = operation({
  route: 'GET /v1/agents',
  scope: 'read',
  summary: 'Lists agents',
  query: agentListQuery,
  answer: z.array(agentSchema),
  async handle({ query, request }, context) {
    const agents = await searchAgents(filterOf(query), pageOf(query), context)
    const includes = includesOf(query, request.headers)
    return builtPage(agents, query, (some) => agentStates(some, includes, context))
  },
})

const countAgentsOperation = operation({
  route: 'GET /v1/agents/count',
  scope: 'read',
  summary: 'Counts agents',
  answer: z.int(),
  handle: (_, context) => countAgents(context),
})

const showAgent = operation({
  route: 'GET /v1/agents/:agent_id',
  scope: 'read',
  summary: 'Shows an agent with the parts that `include` names',
  params: agentPath,
  query: includeQuery,
  answer: agentSchema,
  handle: async ({ params, query, request }, context) =>
    agentState(await requireAgent(params.agent_id, context), includesOf(query, request.headers), context),
})

const changeAgent = operation({
  route: 'PATCH /v1/agents/:agent_id',
  scope: 'agent',
  summary: 'Updates an agent; omitted fields stay unchanged',
  params: agentPath,
  body: agentChangeBody,
  example: { description: 'Answers questions about tea.' },
  answer: agentSchema,
  async handle({ params, body: sent, reply, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const { body, warnings } = withKnownModels(sent, context)
    const named = body.tools ? await requireNamedTools(body.tools, context) : undefined
    const chosen = body.tool_ids ? await toolNames(body.tool_ids, context) : undefined
    const requested = requestedModel(body)
    const model = requested === undefined ? undefined : requireModel(requested, context)
    requireOwnVendor(body, model ?? agent.model, agent.settings?.wire?.model_settings)
    const change = withoutShownWindow(body, windowOf(agent, context))
    await requireRoomAfter(change, agent, context)
    const secrets = requestedSecrets(body)
    const updated = await updateAgent(
      {
        agent,
        ...defined({
          name: body.name || undefined,
          system: body.system === null || body.system === undefined ? undefined : body.system,
          model,
          fallback: body.fallback ?? undefined,
          tools: named || chosen ? [...(named?.tools ?? []), ...(chosen ?? [])] : undefined,
          tags: body.tags ?? undefined,
          blockIds: body.block_ids ?? undefined,
        }),
        settings: (before) => {
          const settings = settingsFrom(change, before)
          return named ? withMissingTools(settings, named.missingTools) : settings
        },
        ...defined({ secrets }),
      },
      context,
    )
    addWarnings(reply, [
      ...warnings,
      ...chainWarnings(body, updated),
      ...toolWarnings(body, updated, named?.missingTools ?? []),
    ])
    return agentState(updated, allPartsFor(request.headers), context)
  },
})

const removeAgent = operation({
  route: 'DELETE /v1/agents/:agent_id',
  scope: 'agent',
  summary: 'Cancels the runs of an agent and deletes it with its conversations',
  audit: 'by-verb',
  params: agentPath,
  answer: deletedSchema,
  async handle({ params }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await deleteAgent(agent, context, AbortSignal.timeout(CANCEL_WAIT_MS))
    return { message: `Agent id=${agent.id} successfully deleted` }
  },
})

const showContext = operation({
  route: 'GET /v1/agents/:agent_id/context',
  scope: 'read',
  summary: 'Shows the context of the model and its size in tokens',
  params: agentPath,
  answer: contextSchema,
  handle: async ({ params }, context) => contextOverview(await requireAgent(params.agent_id, context), context),
})

const recompile = operation({
  route: 'POST /v1/agents/:agent_id/recompile',
  scope: 'agent',
  summary: 'Recompiles the system prompt from the current memory',
  params: agentPath,
  query: recompileQuery,
  answer: z.string().describe('The system prompt.'),
  async handle({ params, query }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const { id: conversationId } = await requireConversation(agent, undefined, context)
    return recompilePrompt({ conversationId, dryRun: query.dry_run }, context)
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

type AgentChange = z.output<typeof agentChangeBody>

/** Clients send back the `llm_config` that they read: its window is that of the model, not a limit to set. */
function withoutShownWindow(body: AgentChange, shown: number): AgentChange {
  const { llm_config } = body
  if (llm_config?.context_window !== shown) return body
  const { context_window: _, ...config } = llm_config
  return { ...body, llm_config: config }
}

const windowField = ({ context_window_limit, llm_config }: Pick<AgentChange, 'context_window_limit' | 'llm_config'>) =>
  `body.${context_window_limit ? 'context_window_limit' : llm_config?.context_window ? 'llm_config.context_window' : 'system'}`

async function requireRoomAfter(body: AgentChange, agent: Agent, context: ServiceContext): Promise<void> {
  const settings = settingsFrom(body, agent.settings ?? {})
  const field = windowField(body)
  const limit = windowLimitOf({ settings })
  if (limit === undefined || (field === 'body.system' && typeof body.system !== 'string')) return
  const { id } = await requireConversation(agent, undefined, context)
  const prompt = await promptOf(id, context)
  requireRoomForPrompt(limit, prompt.length - agent.system.length + (body.system ?? agent.system).length, field)
}

function filterOf(query: z.output<typeof agentListQuery>): AgentFilter {
  const sortBy = query.order_by ?? query.sort_by
  return defined({
    name: query.name || undefined,
    text: query.query_text || undefined,
    tags: query.tags,
    allTags: query.tags ? (query.match_all_tags ?? false) : undefined,
    lastStopReason: query.last_stop_reason || undefined,
    sortBy,
  })
}

function withMissingTools({ missingTools: _, ...settings }: AgentSettings, missing: string[]): AgentSettings {
  return missing.length > 0 ? { ...settings, missingTools: missing } : settings
}

/** Handles of the retired server that have another name here. */
const chainWarnings = (body: AgentChange, { model, fallback }: Agent): string[] => [
  ...renamedHandle('model', requestedModel(body), model),
  ...(body.fallback ?? []).flatMap((sent, index) => renamedHandle(`fallback.${index}`, sent, fallback[index])),
]

function toolWarnings({ tool_rules }: AgentChange, { tools }: Agent, missing: readonly string[]): string[] {
  const ruled = new Set((tool_rules ?? []).map(({ tool_name }) => tool_name))
  const absent = [...ruled].filter((name) => !tools.includes(name) && !missing.includes(name))
  return [
    ...(missing.length === 0
      ? []
      : [
          `tools: Holdfast does not have ${missing.join(', ')}; the agent works without, and metadata.missing_tools lists what is missing.`,
        ]),
    ...(absent.length === 0
      ? []
      : [`tool_rules: the agent does not have ${absent.join(', ')}; rules about a tool have no effect without it.`]),
  ]
}

async function toolNames(ids: readonly ToolId[], context: ServiceContext): Promise<string[]> {
  const names: string[] = []
  for (const id of ids) names.push((await requireTool(id, context)).name)
  return names
}
