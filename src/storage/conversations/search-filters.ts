import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { MessageSearchQuery } from '../../ports/message-search-store.ts'
import { listParameters, listValues, type Parameter, type Slots } from '../database/statement.ts'
import type { Scope } from './message-list.ts'

/** Which messages a search may find, words aside. */
export type MessageFilter = Omit<MessageSearchQuery, 'text'> & {
  organizationId: OrganizationId
  agentId?: AgentId | undefined
}

const ROLES = 4

export const scopeOf = ({ agentId, conversationId }: Pick<MessageFilter, 'agentId' | 'conversationId'>): Scope =>
  conversationId ? 'conversation' : agentId ? 'agent' : 'all'

/** An empty agent or conversation matches all. */
export type SearchValues = Slots<'role'> & {
  organization: OrganizationId
  agent: string
  conversation: string
  skip: number
  from: number
  to: number
  anyRole: number
  limit: number
}

export function searchValuesOf(search: MessageFilter): SearchValues {
  const { organizationId, agentId, conversationId, roles = [], from, to, limit, skip } = search
  return {
    organization: organizationId,
    agent: agentId ?? '',
    conversation: conversationId ?? '',
    limit,
    skip: skip ?? 0,
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
    anyRole: roles.length === 0 ? 1 : 0,
    ...listValues('role', roles, ROLES),
  }
}

export const matchesFilters = <V extends SearchValues>(p: Parameter<V>, table: 'messages' | 'message_index') => {
  const name = sql.table(table)
  const roles = sql.join(listParameters(p, 'role', ROLES))
  return sql<SqlBool>`${name}.created_at between cast(${p('from')} as bigint) and cast(${p('to')} as bigint)
    and (cast(${p('anyRole')} as integer) = 1 or ${name}.role in (${roles}))`
}
