import type { AgentId, ConversationId, OrganizationId } from './id.ts'

/** What a change is about. The names are those of the wire. */
export type ChangedKind =
  | 'agent'
  | 'conversation'
  | 'run'
  | 'block'
  | 'tool'
  | 'mcp_server'
  | 'schedule'
  | 'key'
  | 'user'
  | 'credential'
  | 'cooldown'
  | 'gateway_account'
  | 'pairing'

/**
 * Says that a row was created, changed or deleted. It carries no data: its reader fetches what it shows again, so a
 * change that is delivered twice does no harm.
 */
export type Change = {
  organizationId: OrganizationId
  kind: ChangedKind
  id: string
  agentId?: AgentId
  conversationId?: ConversationId
  verb: 'created' | 'changed' | 'deleted'
  position: ChangePosition
}

/**
 * A place in the feed. On PostgreSQL a lower number may commit after a higher one; ordered by transaction first, all
 * that is visible below the oldest open transaction is final.
 */
export type ChangePosition = { transaction: number; number: number }

/** How long changes are kept. A reader that was away for longer fetches what it shows again. */
export const CHANGES_KEPT_MS = 24 * 3_600_000

export const FIRST_POSITION: ChangePosition = { transaction: 0, number: 0 }

export const positionText = ({ transaction, number }: ChangePosition): string => `${transaction}.${number}`

/** Undefined: the text is not a position. */
export function parsePosition(text: string): ChangePosition | undefined {
  const [, transaction, number] = /^(\d{1,16})\.(\d{1,16})$/.exec(text) ?? []
  if (transaction === undefined || number === undefined) return undefined
  return { transaction: Number(transaction), number: Number(number) }
}

export const isAfter = (one: ChangePosition, other: ChangePosition): boolean =>
  one.transaction === other.transaction ? one.number > other.number : one.transaction > other.transaction
