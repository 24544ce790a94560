import type { Agent, Conversation, ConversationDetails } from '../core/agent.ts'
import type { ConversationId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { ListPage, Standing } from '../ports/memory-store.ts'
import type { ConversationFilter } from '../ports/store.ts'
import { promptOf } from './compile-prompt.ts'
import type { Desk } from './desk.ts'

export const listConversations = (agent: Agent, desk: Desk): Promise<Conversation[]> =>
  desk.world.store.conversations.list(desk.organizationId, agent.id)

export async function searchConversations(
  filter: ConversationFilter,
  page: ListPage,
  { world, organizationId }: Desk,
): Promise<Conversation[]> {
  const found = await world.store.conversations.search(organizationId, filter, page)
  if (found) return found
  throw new Problem('not-found', `There is no conversation ${page.after ?? page.before} to go on from.`)
}

/** By its own id, of whichever agent. */
export async function findConversationById(id: ConversationId, { world, organizationId }: Desk): Promise<Conversation> {
  const found = await world.store.conversations.get(organizationId, id)
  if (found) return found
  throw new Problem('not-found', `There is no conversation ${id}.`)
}

/** Another conversation of this agent, beside its default one. */
export async function createConversation(
  agent: Agent,
  desk: Desk,
  details: ConversationDetails = {},
): Promise<Conversation> {
  const conversation = newConversation(agent.id, desk, details)
  await desk.world.store.conversations.create(conversation)
  // From now on it is told this, whatever becomes of the memory it is made of.
  await promptOf(conversation.id, desk)
  return conversation
}

export function newConversation(
  agentId: Agent['id'],
  { world, organizationId }: Desk,
  details: ConversationDetails = {},
): Conversation {
  return {
    id: `conv-${world.randomness.uuid()}`,
    organizationId,
    agentId,
    isDefault: false,
    createdAt: world.clock.now(),
    contextStart: 0,
    nextPosition: 0,
    ...(Object.keys(details).length > 0 ? { details } : {}),
  }
}

/** What is not named stays as it is. */
export type ConversationChange = {
  details?(before: ConversationDetails): ConversationDetails
  isArchived?: boolean
  lastMessageAt?: number
}

export async function updateConversation(
  id: ConversationId,
  { details, isArchived, lastMessageAt }: ConversationChange,
  { world, organizationId }: Desk,
): Promise<Conversation> {
  const now = world.clock.now()
  const updated = await world.store.conversations.update(organizationId, id, (before) => {
    const { archivedAt, ...kept } = before
    const archived = isArchived === undefined ? archivedAt : isArchived ? (archivedAt ?? now) : undefined
    return {
      ...kept,
      ...(details ? { details: details(before.details ?? {}) } : {}),
      ...(lastMessageAt === undefined ? {} : { lastMessageAt }),
      ...(archived === undefined ? {} : { archivedAt: archived }),
      updatedAt: now,
    }
  })
  if (updated) return updated
  throw new Problem('not-found', `There is no conversation ${id}.`)
}

/** What the model is shown, what waits and how the agent's last run ended: all of one moment. */
export async function standingOf(id: ConversationId, { world, organizationId }: Desk): Promise<Standing> {
  return (await world.store.recall.standing(organizationId, id)) ?? { context: [], lastRun: {} }
}
