import { z } from 'zod'
import type { Agent, Conversation } from '../../core/agent.ts'
import { cleanText } from '../../core/block.ts'
import {
  type AgentId,
  type BlockId,
  type ConversationId,
  type McpServerId,
  type MessageId,
  type PassageId,
  parseId,
  type RunId,
  type StepId,
  type ToolId,
} from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { requireAgent as requireAgentById } from '../../service/agents/agents.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { HttpFault, refuse } from './errors.ts'

/** A caller's value as the schema says it, or a 422 that names what is wrong and where. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown, where: 'body' | 'query' | 'path'): z.output<S> {
  const result = schema.safeParse(withoutNul(value ?? {}))
  if (result.success) return result.data
  throw new HttpFault({ status: 422, body: { detail: describe(result.error, where) } })
}

/** No database keeps a NUL in text, and nobody means one. */
function withoutNul(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(withoutNul)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleanText(key), withoutNul(item)]))
}

const MOST_ISSUES = 10

function describe({ issues }: z.ZodError, where: string): string {
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, message }) => `${[where, ...path].join('.')}: ${message}`)
  return [...lines, ...(issues.length > MOST_ISSUES ? [`and ${issues.length - MOST_ISSUES} more`] : [])].join('; ')
}

/** Query values are text; a key that is repeated is a list. */
export const flag = z
  .enum(['true', 'false', 'True', 'False', '1', '0'])
  .transform((text) => ['true', 'True', '1'].includes(text))

export const texts = z.union([z.string().transform((text) => [text]), z.array(z.string())])

export const limit = (usual: number, most = 1000) => z.coerce.number().int().min(1).max(most).optional().default(usual)

type Params = unknown

export const idIn = {
  agent: (params: Params): AgentId => requireId('agent', params, 'agent_id'),
  conversation: (params: Params): ConversationId => requireId('conv', params, 'conversation_id'),
  run: (params: Params): RunId => requireId('run', params, 'run_id'),
  step: (params: Params): StepId => requireId('step', params, 'step_id'),
  message: (params: Params): MessageId => requireId('message', params, 'message_id'),
  block: (params: Params): BlockId => requireId('block', params, 'block_id'),
  tool: (params: Params): ToolId => requireId('tool', params, 'tool_id'),
  mcpServer: (params: Params): McpServerId => requireId('mcp_server', params, 'mcp_server_id'),
  passage: (params: Params): PassageId => requireId('passage', params, 'memory_id'),
}

function requireId<P extends Parameters<typeof parseId>[0]>(prefix: P, params: Params, name: string) {
  const text = (params as Record<string, string>)[name] ?? ''
  const id = parseId(prefix, text)
  if (id) return id
  throw refuse(422, `path.${name}: must be ${prefix}- and a lower-case UUID of version 4, not "${text.slice(0, 80)}"`)
}

export async function requireAgent(params: Params, desk: Desk): Promise<Agent> {
  const id = idIn.agent(params)
  try {
    return await requireAgentById(id, desk)
  } catch (fault) {
    if (fault instanceof Problem) throw refuse(404, `NOT_FOUND: Agent not found: ${id}`)
    throw fault
  }
}

/** The default conversation, unless one is named. */
export function conversationOf(agent: Agent, named: string | undefined, desk: Desk): Promise<Conversation> {
  return requireConversation(agent, named === undefined || named === 'default' ? undefined : named, desk)
}
