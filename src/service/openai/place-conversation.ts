import type { Agent, Conversation, ConversationDetails } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { type ConversationId, uuidFrom } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Run } from '../../core/run.ts'
import { createConversation, findConversation, forkConversation } from '../conversations/conversations.ts'
import type { ServiceContext } from '../service-context.ts'

/** Where the conversation of a request comes from. */
export type ConversationSource =
  /** The client named it by its id. */
  | { type: 'id'; id: ConversationId }
  /** It continues from this run. */
  | { type: 'run'; run: Run }
  /** A name that the client chose; `by` says where it was. `sendsHistory`: each request repeats the whole chat. */
  | { type: 'name'; by: string; name: string; sendsHistory: boolean }
  /** The request says nothing: it gets a conversation of its own. */
  | { type: 'none' }
  /** A conversation that no list shows, for one question. */
  | { type: 'once' }

/** How copies of a request find each other. `at`: when it arrived. */
export type RequestCopies = { fingerprint: string; isRetry: boolean; at: number }

/** A copy of a request that comes later than this is a request of its own. */
export const RETRY_WINDOW_MS = 10 * 60_000

type Placing = { agent: Agent; source: ConversationSource; copies: RequestCopies }

/** The conversation of a request. It is made if it is not there yet; a copy of the request gets the same one. */
export async function placeConversation(
  { agent, source, copies }: Placing,
  context: ServiceContext,
): Promise<Conversation> {
  switch (source.type) {
    case 'id':
      return byId(agent, source.id, context)
    case 'name':
      return named(agent, source, context)
    case 'run':
      return after(agent, { run: source.run, copies }, context)
    case 'none':
      return ensure(agent, { id: await placed(copies, context) }, context)
    case 'once':
      return ensure(agent, { id: await placed(copies, context), hidden: true, summary: 'once' }, context)
  }
}

/** The fork in which a client that names this conversation continues. */
async function followBranch(conversation: Conversation, context: ServiceContext): Promise<Conversation> {
  const branch = conversation.details?.continuedIn
  // A branch that was deleted ends nothing: the chat goes on where it came from.
  return (branch && (await findConversation(branch, context))) ?? conversation
}

async function byId(agent: Agent, id: ConversationId, context: ServiceContext): Promise<Conversation> {
  const found = await findConversation(id, context)
  if (found) return requireOwn(agent, found)
  if (await context.deps.store.openai.conversation(context.organizationId, id)) return ensure(agent, { id }, context)
  throw new Problem('not-found', `There is no conversation "${id}".`, { param: 'conversation' })
}

const MAX_DELETED = 100

/** The id of a named conversation follows from its name, so every server finds the same one. */
async function named(
  agent: Agent,
  { by, name }: Extract<ConversationSource, { type: 'name' }>,
  context: ServiceContext,
): Promise<Conversation> {
  const { deps, organizationId } = context
  for (let deleted = 0; deleted < MAX_DELETED; deleted++) {
    const digest = deps.digest([organizationId, agent.id, by, name, String(deleted)].join('\n'))
    const id: ConversationId = `conv-${uuidFrom(digest)}`
    const known = await deps.store.conversations.getAnywhere(id)
    if (known?.isDeleted) continue
    const root = await ensure(agent, { id, summary: `${by} ${name}`.slice(0, 200) }, context)
    return followBranch(root, context)
  }
  throw new Problem('conflict', `The conversation "${name.slice(0, 80)}" was deleted too often. Use another name.`)
}

/** Behind the run; a fork if the conversation went on without it. */
async function after(
  agent: Agent,
  { run, copies }: { run: Run; copies: RequestCopies },
  context: ServiceContext,
): Promise<Conversation> {
  const { store } = context.deps
  const conversation = await findConversation(run.conversationId, context)
  if (!conversation) throw new Problem('not-found', `The conversation of this response was deleted.`)
  requireOwn(agent, conversation)
  const end = (await store.messages.ofRun(run.id)).at(-1)?.position
  if (end === undefined) return conversation
  const later = await store.messages.list(context.organizationId, conversation.id, {
    after: end,
    limit: 1,
    take: 'oldest',
  })
  if (later.length === 0) return conversation
  return placeBranch({ conversation, agent, copies }, end, context)
}

/** A fork up to `end`, or without any message; the same one for each copy of a request. */
export async function placeBranch(
  { conversation, agent, copies }: { conversation: Conversation; agent: Agent; copies: RequestCopies },
  end: number | undefined,
  context: ServiceContext,
): Promise<Conversation> {
  const { continuedIn: _, branchOf: __, ownBlocks: ___, ...details } = conversation.details ?? {}
  const id = await placed(copies, context)
  if (end === undefined) return ensure(agent, { ...details, id }, context)
  return orMade({ agent, id, make: () => forkConversation({ source: conversation, upTo: end, id }, context) }, context)
}

function placed({ fingerprint, isRetry, at }: RequestCopies, { deps, organizationId }: ServiceContext) {
  const conversationId: ConversationId = `conv-${deps.randomness.uuid()}`
  return deps.store.openai.place({
    organizationId,
    fingerprint,
    isRetry,
    at,
    conversationId,
    windowMs: RETRY_WINDOW_MS,
  })
}

async function ensure(
  agent: Agent,
  { id, ...details }: ConversationDetails & { id: ConversationId },
  context: ServiceContext,
): Promise<Conversation> {
  return orMade({ agent, id, make: () => createConversation(agent, context, { id, ...defined(details) }) }, context)
}

async function orMade(
  { agent, id, make }: { agent: Agent; id: ConversationId; make(): Promise<Conversation> },
  context: ServiceContext,
): Promise<Conversation> {
  const found = await findConversation(id, context)
  if (found) return requireOwn(agent, found)
  try {
    return await make()
  } catch (fault) {
    // Another copy of the request made it meanwhile.
    const made = await findConversation(id, context)
    if (made) return requireOwn(agent, made)
    throw fault
  }
}

function requireOwn(agent: Agent, conversation: Conversation): Conversation {
  if (conversation.agentId === agent.id) return conversation
  throw new Problem(
    'invalid-argument',
    `Conversation "${conversation.id}" belongs to another agent than "${agent.name}". Name its agent as the model.`,
    { param: 'model' },
  )
}
