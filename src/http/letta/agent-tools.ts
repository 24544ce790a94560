import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { AgentId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { attachTool, detachTool, setApproval, toolsOf } from '../../service/agents/agent-tools.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { runAgentTool } from '../../service/tools/run-tool.ts'
import { flag } from '../field.ts'
import { operation } from '../operation.ts'
import { ownedQuery, paged } from '../paging.ts'
import { agentPath, requireAgent, toolPath } from './path-params.ts'
import { runBody, toRunToolRequest } from './run-tool.ts'
import { agentSchema } from './wire/agent-schema.ts'
import { agentState, allPartsFor, isSdk } from './wire/agent-state.ts'
import { ranToolSchema, wireRan } from './wire/ran-tool.ts'
import { toolSchema, wireTool } from './wire/tool.ts'

const namedPath = { ...agentPath, tool_name: z.string().describe('The name of the tool.') }

/** Old clients get the agent back; the official client reads nothing. */
const changedSchema = agentSchema.nullable()

const listAgentTools = operation({
  route: 'GET /v1/agents/:agent_id/tools',
  scope: 'read',
  summary: 'Lists the tools of an agent',
  params: agentPath,
  query: ownedQuery,
  answer: z.array(toolSchema),
  async handle({ params, query }, context) {
    const tools = await toolsOf(await requireAgent(params.agent_id, context), context)
    return paged(tools, query).map(wireTool)
  },
})

const attachAgentTool = operation({
  route: 'PATCH /v1/agents/:agent_id/tools/attach/:tool_id',
  scope: 'agent',
  summary: 'Attaches a tool to an agent',
  params: { ...agentPath, ...toolPath },
  answer: changedSchema,
  async handle({ params, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await attachTool(agent, params.tool_id, context)
    return changedAgent(agent.id, request, context)
  },
})

const detachAgentTool = operation({
  route: 'PATCH /v1/agents/:agent_id/tools/detach/:tool_id',
  scope: 'agent',
  summary: 'Detaches a tool from an agent',
  params: { ...agentPath, ...toolPath },
  answer: changedSchema,
  async handle({ params, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await detachTool(agent, params.tool_id, context)
    return changedAgent(agent.id, request, context)
  },
})

const runAgentToolOperation = operation({
  route: 'POST /v1/agents/:agent_id/tools/:tool_name/run',
  scope: 'agent',
  summary: 'Runs a tool of an agent directly, without a model',
  audit: 'before',
  params: namedPath,
  body: runBody,
  example: { args: {} },
  answer: ranToolSchema,
  async handle({ params, body, request, reply }, context) {
    const toolRequest = toRunToolRequest(body, { headers: request.headers, raw: reply.raw })
    const agent = await requireAgent(params.agent_id, context)
    return wireRan(await runAgentTool(agent, params.tool_name, { ...toolRequest, context }))
  },
})

const setToolApproval = operation({
  route: 'PATCH /v1/agents/:agent_id/tools/approval/:tool_name',
  scope: 'agent',
  summary: 'Sets whether a tool of an agent needs approval',
  params: namedPath,
  query: z.object({ requires_approval: flag.optional().describe('The same as the field of the body.') }),
  body: z.object({
    requires_approval: z.boolean().nullish().describe('Whether each call waits for approval.'),
    body_requires_approval: z.boolean().nullish().describe('The name of `requires_approval` in the official client.'),
  }),
  example: { requires_approval: true },
  answer: changedSchema,
  async handle({ params, query, body, request }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const isRequired = body.requires_approval ?? body.body_requires_approval ?? query.requires_approval
    if (isRequired === undefined) throw new Problem('invalid', 'body.requires_approval: must be true or false')
    await setApproval({ agent, tool: params.tool_name, isRequired }, context)
    return changedAgent(agent.id, request, context)
  },
})

export const agentToolOperations = [
  listAgentTools,
  attachAgentTool,
  detachAgentTool,
  runAgentToolOperation,
  setToolApproval,
]

async function changedAgent(agentId: AgentId, { headers }: FastifyRequest, context: ServiceContext) {
  return isSdk(headers) ? null : agentState(await requireAgent(agentId, context), allPartsFor(headers), context)
}
