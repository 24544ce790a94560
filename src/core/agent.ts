import type { AgentId, ConversationId, OrganizationId } from './id.ts'
import type { TargetHandle } from './target.ts'

/** The definition people edit: it is never changed by a turn. */
export type Agent = {
  id: AgentId
  organizationId: OrganizationId
  name: string
  system: string
  model: TargetHandle
  /** Where a turn goes when the model fails; every turn starts at `model` again. */
  fallback: TargetHandle[]
  tools: string[]
  createdAt: number
  updatedAt: number
}

export type Conversation = {
  id: ConversationId
  organizationId: OrganizationId
  agentId: AgentId
  isDefault: boolean
  createdAt: number
  lastMessageAt?: number
  /** Messages before this position were compacted away from the model's view. */
  contextStart: number
  nextPosition: number
}

/** The whole chain a turn of this agent may walk, primary first; `usual` is for agents that have no chain of their own. */
export const chainOf = ({ model, fallback }: Agent, usual: readonly TargetHandle[] = []): TargetHandle[] => [
  model,
  ...(fallback.length > 0 ? fallback : usual.filter((handle) => handle !== model)),
]
