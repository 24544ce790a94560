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
import { cancelRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import type { ServiceContext } from '../service-context.ts'
import { closeConversations } from '../workspaces/end-processes.ts'
import { promptOf } from './prompt.ts'

export const listConversations = (agent: Agent, serviceContext: ServiceContext): Promise<Conversation[]> =>
  serviceContext.deps.store.conversations.list(serviceContext.organizationId, agent.id)

export async function searchConversations(
  filter: ConversationFilter,
  page: ListPage,
  { deps, organizationId }: ServiceContext,
): Promise<Conversation[]> {
  const found = await deps.store.conversations.search(organizationId, filter, page)
  if (found) return found
  throw new Problem('not-found', `There is no conversation ${page.after ?? page.before} to go on from.`)
}

/** The named conversation of this agent, or its default one. */
export async function requireConversation(
  agent: Agent,
  id: string | undefined,
  serviceContext: ServiceContext,
): Promise<Conversation> {
  const { conversations } = serviceContext.deps.store
  const parsed = id === undefined ? undefined : parseId('conv', id)
  const found =
    id === undefined
      ? await conversations.defaultOf(serviceContext.organizationId, agent.id)
      : parsed && (await conversations.get(serviceContext.organizationId, parsed))
  if (found?.agentId === agent.id) return found
  throw new Problem('not-found', `Agent ${agent.name} has no conversation "${id ?? 'default'}".`)
}

/** By its own id, whichever agent it belongs to. */
export const findConversation = (
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<Conversation | undefined> => deps.store.conversations.get(organizationId, id)

export async function requireConversationById(
  id: ConversationId,
  serviceContext: ServiceContext,
): Promise<Conversation> {
  const found = await findConversation(id, serviceContext)
  if (found) return found
  throw new Problem('not-found', `There is no conversation ${id}.`)
}

/** A conversation by its own id, with the agent it belongs to. */
export async function requireConversationAndAgent(
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<{ agent: Agent; conversation: Conversation }> {
  const { agents, conversations } = deps.store
  const conversation = await conversations.get(organizationId, id)
  const agent = conversation && (await agents.get(organizationId, conversation.agentId))
  if (agent) return { agent, conversation }
  throw new Problem('not-found', `There is no conversation ${id}.`)
}

/** Another conversation of this agent, beside its default one. */
export async function createConversation(
  agent: Agent,
  serviceContext: ServiceContext,
  { ownLabels = [], ...details }: ConversationDetails & { ownLabels?: readonly string[] } = {},
): Promise<Conversation> {
  const blocks = await copyAgentBlocks(agent, ownLabels, serviceContext)
  const conversation = newConversation(agent.id, serviceContext, withOwnBlocks(details, blocks))
  await serviceContext.deps.store.conversations.create(conversation, blocks)
  // Compiled now and kept: later changes of memory do not reach this prompt.
  await promptOf(conversation.id, serviceContext)
  return conversation
}

/** What is not named stays as it is. */
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
  throw new Problem('not-found', `There is no conversation ${id}.`)
}

/** What the model is shown, what waits and how the agent's last run ended: all of one moment. */
export async function readConversationState(
  id: ConversationId,
  { deps, organizationId }: ServiceContext,
): Promise<ConversationState> {
  return (await deps.store.messageSearch.conversationState(organizationId, id)) ?? { context: [], lastRun: {} }
}

/** How many messages the model is shown of a conversation. */
export async function countContextMessages(conversationId: ConversationId, { deps }: ServiceContext): Promise<number> {
  const messages = await deps.store.messages.context(conversationId)
  return toModelHistory(messages.map(({ body }) => body)).length
}

type ForkConversationRequest = {
  source: Conversation
  /** The position of the last message that is wanted; without it, all there is. */
  upTo?: number
  isHidden?: boolean
}

/**
 * Another conversation with the same history: the messages keep their ids, the prompt is compiled again, and later
 * messages of one do not reach the other.
 */
export async function forkConversation(
  request: ForkConversationRequest,
  serviceContext: ServiceContext,
): Promise<Conversation> {
  const { source, upTo, isHidden } = request
  const { store } = serviceContext.deps
  if (upTo !== undefined && upTo < source.contextStart)
    throw new Problem('invalid', 'A fork cannot end with a message that the model is no longer shown.')
  const view = await store.messages.context(source.id)
  const { end, contextStart } = forkPoint(view, source.contextStart, upTo)
  const { hidden: _, ownBlocks = [], ...details } = source.details ?? {}
  const blocks = await copyBlocks(ownBlocks, serviceContext)
  const last = view.findLast(({ position }) => position < end)?.createdAt
  const fork: Conversation = {
    ...newConversation(
      source.agentId,
      serviceContext,
      withOwnBlocks({ ...details, ...defined({ hidden: isHidden ? true : undefined }) }, blocks),
    ),
    nextPosition: end,
    contextStart,
    ...defined({ lastMessageAt: last }),
  }
  if ((await store.conversations.fork(source.id, fork, blocks)) === 'not-found')
    throw new Problem('not-found', `There is no conversation ${source.id}.`)
  await promptOf(fork.id, serviceContext)
  return fork
}

/** How often new runs may begin in it before the deletion gives up. */
const MAX_DELETE_ROUNDS = 3

/**
 * What still runs, waits or is queued in it is cancelled and heard out; then it is gone, and nothing can begin in it; then
 * what it kept warm and its workspace go.
 * Where a run does not end before the signal, nothing is deleted and its sender is told which.
 */
export async function deleteConversation(
  { id, isDefault }: Conversation,
  serviceContext: ServiceContext,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = serviceContext.deps
  if (isDefault) throw new Problem('invalid', 'The default conversation belongs to its agent and stays with it.')
  let left: RunId | undefined
  for (let round = 0; round < MAX_DELETE_ROUNDS && !signal.aborted; round++) {
    const deleted = await store.conversations.delete(serviceContext.organizationId, id, clock.now())
    switch (deleted.type) {
      case 'deleted':
        return closeConversations([id], serviceContext)
      case 'not-found':
        throw new Problem('not-found', `There is no conversation ${id}.`)
      case 'busy':
        // The newest first: what is queued must not begin when what runs before it ends.
        for (const runId of deleted.runIds.toReversed()) {
          left = runId
          await cancelRun(runId, serviceContext)
        }
        for (const runId of deleted.runIds) await waitForRun(runId, serviceContext, signal)
    }
  }
  const message = 'The conversation is not deleted: another request is currently being processed and has not ended yet.'
  throw new Problem('busy', message, left ? { runId: left } : {})
}

/** Copies of the agent's blocks: what this conversation does to them reaches no other. */
async function copyAgentBlocks(
  agent: Agent,
  labels: readonly string[],
  serviceContext: ServiceContext,
): Promise<Block[]> {
  if (labels.length === 0) return []
  const blocks = await serviceContext.deps.store.blocks.ofAgent(serviceContext.organizationId, agent.id)
  return [...new Set(labels)].map((label) => {
    const block = blocks.find((one) => one.label === label)
    if (block) return copyBlock(block, serviceContext)
    const there = blocks.map((one) => one.label).join(', ') || 'none'
    throw new Problem('invalid', `The agent has no block labeled "${label}" to copy. It has: ${there}.`)
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

async function copyBlocks(ids: readonly BlockId[], serviceContext: ServiceContext): Promise<Block[]> {
  const found = await Promise.all(
    ids.map((id) => serviceContext.deps.store.blocks.get(serviceContext.organizationId, id)),
  )
  return found.flatMap((block) => (block ? [copyBlock(block, serviceContext)] : []))
}
