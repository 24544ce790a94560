import { sql } from 'kysely'
import type { AgentId, ConversationId, StepId } from '../../core/id.ts'
import type { Message, MessageBody, NewMessage } from '../../core/message.ts'
import type { Value } from './row-mapping.ts'
import type { ChangedRun } from './run-row.ts'

export const MESSAGE_COLUMNS = [
  sql<Message['id']>`coalesce(copy_of, id)`.as('id'),
  'conversation_id',
  'run_id',
  'step_id',
  'position',
  'body',
  'created_at',
] as const

export const NEW_MESSAGE_COLUMNS = [
  'id',
  'organization_id',
  'agent_id',
  'conversation_id',
  'run_id',
  'run_number',
  'step_id',
  'role',
  'body',
  'created_at',
] as const

/** All columns but the position, which the insert computes. */
export type NewMessageRow = ReturnType<typeof messageRowOf>

export const messageRowOf = (run: ChangedRun, { id, runId, stepId, body, createdAt }: NewMessage) => ({
  id,
  organization_id: run.organization_id,
  agent_id: run.agent_id,
  conversation_id: run.conversation_id,
  run_id: runId,
  run_number: run.number,
  step_id: stepId ?? null,
  role: body.role,
  body: JSON.stringify(body),
  created_at: createdAt,
})

type MessageRow = [
  id: Message['id'],
  conversationId: ConversationId,
  runId: Message['runId'],
  stepId: StepId | null,
  position: number,
  body: string,
  createdAt: number,
]

/**
 * Expects rows of MESSAGE_COLUMNS. Measured per message: 1.2 µs, against 2.0 from objects and 1.7 with one parse over
 * all bodies.
 */
export function messagesOf(rows: Value[][]): Message[] {
  return (rows as MessageRow[]).map(([id, conversationId, runId, stepId, position, json, createdAt]) => {
    const body = JSON.parse(json) as MessageBody
    const message: Message = { id, runId, body, createdAt, conversationId, position }
    if (stepId) message.stepId = stepId
    return message
  })
}

/** Expects rows of MESSAGE_COLUMNS followed by the agent id. */
export function messagesWithAgentOf(rows: Value[][]): (Message & { agentId: AgentId })[] {
  const agents = rows.map((row) => row.at(-1) as AgentId)
  return messagesOf(rows).map((message, index) => ({ ...message, agentId: agents[index]! }))
}
