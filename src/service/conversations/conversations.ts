import type { Agent, Conversation, ConversationDetails } from '../../core/agent.ts'
import type { Block } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import { forkPoint } from '../../core/fork.ts'
import { toModelHistory } from '../../core/history.ts'
import { type BlockId, type ConversationId, parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { ConversationState } from '../../ports/message-search-store.ts'
import type { ConversationFilter } from '../../ports/store.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import { cancelRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import type { ServiceContext } from '../service-context.ts'
import { closeConversations } from '../workspaces/end-processes.ts'
import { promptOf } from './prompt.ts'

export const listConversations = (agent: Agent, context: ServiceContext): Promise<Conversation[]> =>
  context.deps.store.conversations.list(context.organizationId, agent.id)

/** For people: the last active first, the default one included. */
export async function lastActiveConversations(
  agent: Agent,
  page: { limit: number; after?: string },
  { deps, organizationId }: ServiceContext,
): Promise<Conversation[]> {
  const { limit, after } = page
  const wanted: ListPage = { limit, order: 'desc', ...defined({ after }) }
  const found = await deps.store.conversations.lastActive(organizationId, agent.id, wanted)
  if (found) return found
  throw new Problem('not-found', `Unknown cursor "${after}". Use the id of a conversation in this list.`)
}

export async function searchConversations(
  filter: ConversationFilter,
  page: ListPage,
  { deps, organizationId }: ServiceContext,
): Promise<Conversation[]> {
  const found = await deps.store.conversations.search(organizationId, filter, page)
  if (found) return found
  throw new Problem(
    'not-found',
    `Unknown cursor "${page.after ?? page.before}". Use the id of a conversation in this list.`,
  )
}

/** The named conversation of this agent, or its default one. */
export async function requireConversation(
  agent: Agent,
  id: string | undefined,
  context: ServiceContext,
): Promise<Conversation> {
  const { conversations } = context.deps.store
  const parsed = id === undefined ? undefined : parseId('conv', id)
  const found =
    id === undefined
      ? await conversations.defaultOf(context.organizationId, agent.id)
      : parsed && (await conversations.get(context.organizationId, parsed))
  if (found?.agentId === agent.id) return found
  throw new Problem('not-found', `Agent ${agent.name} has no conversation "${id ?? 'default'}".`)
}

/** By its id, for any agent of the organization. */
export const findConversation = (
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<Conversation | undefined> => deps.store.conversations.get(organizationId, id)

export async function requireConversationById(id: ConversationId, context: ServiceContext): Promise<Conversation> {
  const found = await findConversation(id, context)
  if (found) return found
  throw new Problem('not-found', `There is no conversation "${id}".`)
}

/** A conversation by its id, with its agent. */
export async function requireConversationAndAgent(
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<{ agent: Agent; conversation: Conversation }> {
  const { agents, conversations } = deps.store
  const conversation = await conversations.get(organizationId, id)
  const agent = conversation && (await agents.get(organizationId, conversation.agentId))
  if (agent) return { agent, conversation }
  throw new Problem('not-found', `There is no conversation "${id}".`)
}

/** `id`: chosen by the caller, who knows that it is free. */
type NewConversation = ConversationDetails & { ownLabels?: readonly string[]; id?: ConversationId }

/** Creates a conversation in addition to the default one of the agent. */
export async function createConversation(
  agent: Agent,
  context: ServiceContext,
  { ownLabels = [], id, ...details }: NewConversation = {},
): Promise<Conversation> {
  const blocks = await copyAgentBlocks(agent, ownLabels, context)
  const made = newConversation(agent.id, context, withOwnBlocks(details, blocks))
  const conversation = id ? { ...made, id } : made
  await context.deps.store.conversations.create(conversation, blocks)
  // Compiled and stored now: later changes of memory do not affect this prompt.
  await promptOf(conversation.id, context)
  return conversation
}

/** Absent fields stay unchanged. */
type ConversationChange = {
  details?(before: ConversationDetails): ConversationDetails
  isArchived?: boolean
  lastMessageAt?: number
}

export async function updateConversation(
  id: ConversationId,
  { details, isArchived, lastMessageAt }: ConversationChange,
  { deps, organizationId }: ServiceContext,
): Promise<Conversation> {
  const now = deps.clock.now()
  const updated = await deps.store.conversations.update(organizationId, id, (before) => {
    const { archivedAt, ...kept } = before
    const archived = isArchived === undefined ? archivedAt : isArchived ? (archivedAt ?? now) : undefined
    return {
      ...kept,
      ...defined({ details: details ? details(before.details ?? {}) : undefined, lastMessageAt, archivedAt: archived }),
      updatedAt: now,
    }
  })
  if (updated) return updated
  throw new Problem('not-found', `There is no conversation "${id}".`)
}

/** The context, the open approval and the end of the agent's last run, read in one snapshot. */
export async function readConversationState(
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<ConversationState> {
  return (await deps.store.messageSearch.conversationState(organizationId, id)) ?? { context: [], lastRun: {} }
}

/** The number of messages in the context of the model. */
export async function countContextMessages(conversationId: ConversationId, { deps }: ServiceContext): Promise<number> {
  const messages = await deps.store.messages.context(conversationId)
  return toModelHistory(messages.map(({ body }) => body)).length
}

type ForkConversationRequest = {
  source: Conversation
  /** The position of the last message to copy. Default: all messages. */
  upTo?: number
  isHidden?: boolean
  /** Chosen by the caller, who knows that it is free. */
  id?: ConversationId
}

/**
 * Another conversation with the same history: the messages keep their ids, the prompt is compiled again, and later
 * messages of one do not reach the other.
 */
export async function forkConversation(
  request: ForkConversationRequest,
  context: ServiceContext,
): Promise<Conversation> {
  const { source, upTo, isHidden } = request
  const { store } = context.deps
  if (upTo !== undefined && upTo < source.contextStart)
    throw new Problem('invalid', 'A fork cannot end at a message that is no longer in the context of the model.')
  const view = await store.messages.context(source.id)
  const { end, contextStart } = forkPoint(view, source.contextStart, upTo)
  await requireRoomFor(
    view.filter(({ position }) => position < end),
    context,
  )
  const { hidden: _, continuedIn: __, ownBlocks = [], ...details } = source.details ?? {}
  const blocks = await copyBlocks(ownBlocks, context)
  const last = view.findLast(({ position }) => position < end)?.createdAt
  const fork: Conversation = {
    ...newConversation(
      source.agentId,
      context,
      withOwnBlocks({ ...details, ...defined({ hidden: isHidden ? true : undefined }) }, blocks),
    ),
    nextPosition: end,
    contextStart,
    ...defined({ id: request.id }),
    ...defined({ listStart: source.listStart, lastMessageAt: last }),
  }
  if ((await store.conversations.fork(source.id, fork, blocks)) === 'not-found')
    throw new Problem('not-found', `There is no conversation "${source.id}".`)
  await promptOf(fork.id, context)
  return fork
}

/** How often a deletion starts over because new runs have begun. */
const MAX_DELETE_ROUNDS = 3

/**
 * Cancels all runs of the conversation, waits for their end, deletes the conversation, then its cached history and its
 * workspace. If a run has not ended when the signal aborts, nothing is deleted and the error names that run.
 */
export async function deleteConversation(
  { id, isDefault }: Conversation,
  context: ServiceContext,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = context.deps
  if (isDefault)
    throw new Problem('invalid', 'The default conversation of an agent cannot be deleted. Delete the agent instead.')
  let unfinished: RunId | undefined
  for (let round = 0; round < MAX_DELETE_ROUNDS && !signal.aborted; round++) {
    const deleted = await store.conversations.delete(context.organizationId, id, clock.now())
    switch (deleted.type) {
      case 'deleted':
        await closeConversations([id], context)
        return
      case 'not-found':
        throw new Problem('not-found', `There is no conversation "${id}".`)
      case 'busy':
        // Newest first: a queued run must not start when the one before it ends.
        for (const runId of deleted.runIds.toReversed()) {
          unfinished = runId
          await cancelRun(runId, context)
        }
        for (const runId of deleted.runIds) await waitForRun(runId, context, signal)
    }
  }
  const message = 'The conversation is not deleted: another request is currently being processed and has not ended yet.'
  throw new Problem('busy', message, unfinished ? { runId: unfinished } : {})
}

/** Copies of the agent's blocks: changes in this conversation do not affect others. */
async function copyAgentBlocks(agent: Agent, labels: readonly string[], context: ServiceContext): Promise<Block[]> {
  if (labels.length === 0) return []
  const blocks = await context.deps.store.blocks.ofAgent(context.organizationId, agent.id)
  return [...new Set(labels)].map((label) => {
    const block = blocks.find((one) => one.label === label)
    if (block) return copyBlock(block, context)
    const labels = blocks.map((one) => one.label).join(', ') || 'none'
    throw new Problem('invalid', `The agent has no block labeled "${label}" to copy. Its blocks: ${labels}.`)
  })
}

function copyBlock(block: Block, { deps }: ServiceContext): Block {
  const at = deps.clock.now()
  return { ...block, id: `block-${deps.randomness.uuid()}`, version: 1, createdAt: at, updatedAt: at }
}

const withOwnBlocks = (details: ConversationDetails, blocks: readonly Block[]): ConversationDetails =>
  blocks.length === 0 ? details : { ...details, ownBlocks: blocks.map(({ id }) => id) }

function newConversation(
  agentId: Agent['id'],
  { deps, organizationId }: ServiceContext,
  details: ConversationDetails = {},
): Conversation {
  return {
    id: `conv-${deps.randomness.uuid()}`,
    organizationId,
    agentId,
    isDefault: false,
    createdAt: deps.clock.now(),
    contextStart: 0,
    nextPosition: 0,
    ...defined({ details: Object.keys(details).length > 0 ? details : undefined }),
  }
}

async function copyBlocks(ids: readonly BlockId[], context: ServiceContext): Promise<Block[]> {
  const found = await Promise.all(ids.map((id) => context.deps.store.blocks.get(context.organizationId, id)))
  return found.flatMap((block) => (block ? [copyBlock(block, context)] : []))
}
