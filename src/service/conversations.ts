import type { Agent, Conversation, ConversationDetails } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
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
  { ownLabels = [], ...details }: ConversationDetails & { ownLabels?: readonly string[] } = {},
): Promise<Conversation> {
  const blocks = await copiesFor(agent, ownLabels, desk)
  const conversation = newConversation(agent.id, desk, withOwnBlocks(details, blocks))
  await desk.world.store.conversations.create(conversation, blocks)
  // From now on it is told this, whatever becomes of the memory it is made of.
  await promptOf(conversation.id, desk)
  return conversation
}

/** What happens to them in this conversation reaches no other. */
async function copiesFor(agent: Agent, labels: readonly string[], desk: Desk): Promise<Block[]> {
  if (labels.length === 0) return []
  const blocks = await desk.world.store.blocks.ofAgent(desk.organizationId, agent.id)
  return [...new Set(labels)].map((label) => {
    const block = blocks.find((one) => one.label === label)
    if (block) return copyOfBlock(block, desk)
    const there = blocks.map((one) => one.label).join(', ') || 'none'
    throw new Problem('invalid', `The agent has no block labelled "${label}" to copy. It has: ${there}.`)
  })
}

export function copyOfBlock(block: Block, { world }: Desk): Block {
  const at = world.clock.now()
  return { ...block, id: `block-${world.randomness.uuid()}`, version: 1, createdAt: at, updatedAt: at }
}

export const withOwnBlocks = (details: ConversationDetails, blocks: readonly Block[]): ConversationDetails =>
  blocks.length === 0 ? details : { ...details, ownBlocks: blocks.map(({ id }) => id) }

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
