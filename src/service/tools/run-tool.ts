import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, ConversationId } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { STALE_WRITE_OUTPUT } from '../../core/tool-write.ts'
import { agentTools, toCallableTool } from '../../engine/agent-tools.ts'
import { executeCall } from '../../engine/execute-call.ts'
import { callDigest } from '../../engine/resolve-calls.ts'
import type { Tool } from '../../ports/tool.ts'
import { requireRunByHand } from '../approvals/approver.ts'
import { authorOf } from '../memory/blocks.ts'
import type { ServiceContext } from '../service-context.ts'

export type RunToolRequest = {
  input: JsonObject
  /** Aborts when the caller disconnects. */
  signal: AbortSignal
  /** The caller repeats a request whose result it did not receive: a tool that is unsafe to repeat does not run again. */
  isRepeat: boolean
}

export type RunToolResult = Pick<ToolOutcome, 'stdout' | 'stderr'> & { status: 'success' | 'error'; output: string }

/**
 * Runs a tool of an agent for a user, as the agent would. A call that would wait for approval in a turn runs for callers
 * who may approve: their request is the approval, for exactly these arguments.
 */
export async function runAgentTool(
  agent: Agent,
  name: string,
  request: RunToolRequest & { context: ServiceContext },
): Promise<RunToolResult> {
  const { context } = request
  const { store, tools, mcp, sources } = context.deps
  if (!agent.tools.includes(name)) throw new Problem('not-found', `Agent ${agent.name} has no tool named ${name}.`)
  const stored = (names: string[]) => store.tools.named(context.organizationId, names)
  const tool = (await agentTools(agent, { tools, mcp, sources, stored })).find(name)
  if (!tool) throw new Problem('not-found', `Tool ${name} of agent ${agent.name} no longer exists.`)
  const conversation = await store.conversations.defaultOf(context.organizationId, agent.id)
  if (!conversation) throw new Problem('not-found', `There is no agent "${agent.id}".`)
  return invoke(tool, { ...request, agentId: agent.id, conversationId: conversation.id })
}

/** Runs a stored tool without an agent. */
export function runStoredTool(
  stored: StoredTool,
  request: RunToolRequest & { context: ServiceContext },
): Promise<RunToolResult> {
  const { mcp, sources, randomness } = request.context.deps
  const placeholder = { agentId: `agent-${randomness.uuid()}`, conversationId: `conv-${randomness.uuid()}` } as const
  return invoke(toCallableTool(stored, { mcp, sources }), { ...request, ...placeholder })
}

type ToolInvocation = RunToolRequest & { context: ServiceContext; agentId: AgentId; conversationId: ConversationId }

async function invoke(tool: Tool, invocation: ToolInvocation): Promise<RunToolResult> {
  const { input, signal, isRepeat, context, agentId, conversationId } = invocation
  const { randomness, digest, clock, spill, tools, store } = context.deps
  if (isRepeat && (tool.effects === 'once' || tool.effects === 'verifiable'))
    throw new Problem(
      'conflict',
      `Tool ${tool.name} may have run for the first request, so it was not run again. To run it again, send a new request.`,
    )
  const fault = tools.inputFault(tool, input)
  if (fault !== undefined) return { status: 'error', output: `Invalid arguments for ${tool.name}: ${fault}` }
  requireMayRun(tool, input, context)
  const { needsApproval, effects, parallel, name, sourceHash } = tool
  const { outcome, writes } = await executeCall(
    {
      callId: `call-${randomness.uuid()}`,
      tool: name,
      input,
      digest: callDigest(digest, name, input),
      needsApproval,
      effects,
      parallel,
      ...defined({ sourceHash }),
    },
    {
      answerId: `message-${randomness.uuid()}`,
      runId: `run-${randomness.uuid()}`,
      agentId,
      conversationId,
      organizationId: context.organizationId,
      spill: spill.of(agentId),
      clock,
      digest,
      signal,
      tools: { ...tools, find: (wanted) => (wanted === name ? tool : undefined) },
      progress: () => undefined,
    },
  )
  // In a turn the engine commits these writes with the end of the call.
  const writer = { organizationId: context.organizationId, agentId, author: authorOf(context) }
  if (writes && (await store.toolWrites.carryOut(writer, writes, clock.now())) === 'stale')
    return { status: 'error', output: STALE_WRITE_OUTPUT }
  const { status, output, stdout, stderr } = outcome
  return { status: status === 'success' ? 'success' : 'error', output, ...defined({ stdout, stderr }) }
}

function requireMayRun(tool: Tool, input: JsonObject, context: ServiceContext): void {
  const reason = tool.approvalReason?.(input)
  if (reason === undefined && !tool.needsApproval) return
  if (tool.waitsInTurns)
    throw new Problem(
      'conflict',
      `${tool.name} does not run by hand: ${tool.waitsInTurns}. Send the agent a message; its call then waits for approval.`,
    )
  requireRunByHand(reason ?? `every call of ${tool.name} does`, context)
}
