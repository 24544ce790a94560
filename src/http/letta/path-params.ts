import { z } from 'zod'
import type { Agent, Conversation } from '../../core/agent.ts'
import { type AgentId, parseId, type RunId, type StepId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Run } from '../../core/run.ts'
import type { StoredStep } from '../../ports/store.ts'
import * as agents from '../../service/agents/agents.ts'
import * as conversations from '../../service/conversations/conversations.ts'
import { findRun } from '../../service/runs/runs.ts'
import { findStep } from '../../service/runs/steps.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { id } from '../field.ts'

/** Path parameters of this surface. */
export const agentPath = { agent_id: id('agent').describe('The id of an agent.') }
export const blockPath = { block_id: id('block').describe('The id of a block.') }
export const toolPath = { tool_id: id('tool').describe('The id of a tool.') }
export const stepPath = { step_id: id('step').describe('The id of a step.') }
export const messagePath = { message_id: id('message').describe('The id of a message.') }
export const mcpServerPath = { mcp_server_id: id('mcp_server').describe('The id of an MCP server.') }

/** A malformed run id is a 400 and not a 422, because clients expect the status of the original server. */
export const runPath = {
  run_id: z
    .string()
    .refine((text) => text.startsWith('run-'), {
      error: ({ input }) =>
        `must be "run-" followed by a lowercase UUID of version 4, not "${String(input).slice(0, 80)}"`,
      params: { problem: 'invalid-argument' },
      abort: true,
    })
    .pipe(id('run'))
    .describe('The id of a run.'),
}

export const conversationPath = {
  conversation_id: z
    .union([z.literal('default'), id('conv'), id('agent')], {
      error: ({ input }) =>
        `must be "conv-" followed by a lowercase UUID of version 4, or "default", not "${String(input).slice(0, 80)}"`,
    })
    .describe(
      'Id of a conversation. `default` with `agent_id`, or an agent id, means the default conversation of the agent.',
    ),
}

/** Names the agent of a `default` conversation. */
export const agentQuery = z.object({
  agent_id: z.string().nullish().describe('Id of the agent, for the conversation `default`.'),
})

export async function requireAgent(agentId: AgentId, context: ServiceContext): Promise<Agent> {
  try {
    return await agents.requireAgent(agentId, context)
  } catch (fault) {
    if (fault instanceof Problem) throw new Problem('not-found', `Agent not found: ${agentId}`)
    throw fault
  }
}

/** The agent that a query or a body names. */
export function requireAgentNamed(text: string, context: ServiceContext): Promise<Agent> {
  const agentId = parseId('agent', text)
  if (agentId) return requireAgent(agentId, context)
  throw new Problem(
    'invalid',
    `agent_id: must be "agent-" followed by a lowercase UUID of version 4, not "${text.slice(0, 80)}"`,
  )
}

/** The default conversation of an agent, unless another is named. */
export function requireAgentConversation(
  agent: Agent,
  named: string | undefined,
  context: ServiceContext,
): Promise<Conversation> {
  return conversations.requireConversation(
    agent,
    named === undefined || named === 'default' ? undefined : named,
    context,
  )
}

/**
 * The conversation in a path: by its id, by `default` with the id of an agent in query or body, or, for old clients, by
 * the id of the agent itself.
 */
export async function requireConversation(
  named: z.output<typeof conversationPath.conversation_id>,
  agentId: string | null | undefined,
  context: ServiceContext,
): Promise<{ agent: Agent; conversation: Conversation }> {
  if (named === 'default' && !agentId)
    throw new Problem('not-found', 'The conversation "default" needs an agent. Send `agent_id` with it.')
  const agentNamed = named === 'default' ? agentId : named.startsWith('agent-') ? named : undefined
  if (agentNamed) {
    const agent = await requireAgentNamed(agentNamed, context)
    return { agent, conversation: await requireAgentConversation(agent, undefined, context) }
  }
  return conversations.requireConversationAndAgent(named as Conversation['id'], context)
}

export async function requireRun(runId: RunId, context: ServiceContext): Promise<Run> {
  const run = await findRun(runId, context)
  if (run) return run
  throw new Problem('not-found', `There is no run "${runId}".`)
}

export async function requireStep(stepId: StepId, context: ServiceContext): Promise<StoredStep> {
  const step = await findStep(stepId, context)
  if (step) return step
  throw new Problem('not-found', `There is no step "${stepId}".`)
}
