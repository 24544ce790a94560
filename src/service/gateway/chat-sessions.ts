import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { chatSettingsOf } from '../../core/gateway/access.ts'
import type { Chat, Sender } from '../../core/gateway/incoming.ts'
import { type ChatSession, type Routing, sessionKeyOf } from '../../core/gateway/session.ts'
import type { AccountSettings, BusyMode } from '../../core/gateway/settings.ts'
import type { ConversationId } from '../../core/id.ts'
import { isSettled } from '../../core/run.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import { findAgent } from '../agents/agents.ts'
import { createConversation } from '../conversations/conversations.ts'
import { leaveConversation } from '../conversations/sessions.ts'
import { cancelRun, listRuns } from '../runs/runs.ts'
import type { ServiceContext } from '../service-context.ts'
import { agentOfChat } from './chat-agent.ts'
import type { GatewayScope } from './gateway-scope.ts'
import { accountsOfSpeaker } from './identities.ts'

/** Who says something, and where. */
export type Speaker = { chat: Chat; sender: Sender }

export const listSessions = (
  filter: { account?: string; limit: number },
  { deps, organizationId }: ServiceContext,
): Promise<ChatSession[]> => deps.store.gateway.sessions(organizationId, filter.account, filter.limit)

const routingOf = ({ settings }: GatewayScope, { chat }: Speaker): Routing =>
  chatSettingsOf(settings, chat)?.routing ?? settings.routing

const keyFor = (scope: GatewayScope, speaker: Speaker): string => sessionKeyOf(routingOf(scope, speaker), speaker)

export const findSession = (
  speaker: Speaker,
  scope: GatewayScope,
  { deps }: ServiceContext,
): Promise<ChatSession | undefined> => deps.store.gateway.session(scope.lease, keyFor(scope, speaker))

export const busyModeOf = (session: ChatSession | undefined, settings: AccountSettings, chat: Chat): BusyMode => {
  const chosen = session?.busy
  if (chosen && chosen !== 'reject') return chosen
  return chatSettingsOf(settings, chat)?.busy ?? settings.busy
}

export type OpenSession = { session: ChatSession; agent: Agent; isNew: boolean }

/** The session of the speaker, with its agent; a new one is not stored yet. Undefined: the configured agent is missing. */
export async function openSession(
  speaker: Speaker,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<OpenSession | undefined> {
  const { settings } = scope
  const known = await findSession(speaker, scope, context)
  const isNamed = (chatSettingsOf(settings, speaker.chat)?.agent ?? settings.agent) !== undefined
  // Without a configured agent, the agent of the session stays as long as it exists.
  const kept = known && !isNamed ? await findAgent(known.agentId, context) : undefined
  const agent = kept ?? (await agentOfChat(speaker.chat, settings, context))
  if (!agent) return undefined
  const elsewhere = await newestOfPerson(speaker, scope, context)
  const isSameAgent = elsewhere?.agentId === agent.id
  if (elsewhere && isSameAgent && elsewhere.conversationId !== known?.conversationId && isNewer(elsewhere, known)) {
    const { conversationId, createdAt } = elsewhere
    const joined = { ...sessionIn(conversationId, speaker, { agent, scope, before: known }, context), createdAt }
    return { session: joined, agent, isNew: true }
  }
  if (known?.agentId === agent.id) return { session: known, agent, isNew: false }
  return { session: await newSession(speaker, { agent, scope, before: known }, context), agent, isNew: true }
}

const isNewer = (one: ChatSession, other: ChatSession | undefined): boolean =>
  other === undefined || one.createdAt > other.createdAt

/**
 * The newest session of this person in a private chat of another linked account, if their chats share a conversation:
 * the conversation that began last is the one of all.
 */
async function newestOfPerson(
  speaker: Speaker,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<ChatSession | undefined> {
  if (speaker.chat.kind !== 'private' || routingOf(scope, speaker) !== 'per-person') return undefined
  const { gateway } = context.deps.store
  let newest: ChatSession | undefined
  for (const { organizationId, account, senderId, chatId } of await accountsOfSpeaker(speaker, scope, context)) {
    if (account === scope.lease.account && senderId === speaker.sender.id) continue
    const session = await gateway.session({ organizationId, account }, chatId)
    if (session && isNewer(session, newest)) newest = session
  }
  return newest
}

type SessionParts = { agent: Agent; scope: GatewayScope; before: ChatSession | undefined }

/** A conversation that no session names is empty, so a crash before the commit leaves nothing that matters. */
async function newSession(speaker: Speaker, parts: SessionParts, context: ServiceContext): Promise<ChatSession> {
  const { id } = await createConversation(parts.agent, context)
  return sessionIn(id, speaker, parts, context)
}

function sessionIn(
  conversationId: ConversationId,
  speaker: Speaker,
  { agent, scope, before }: SessionParts,
  { deps }: ServiceContext,
): ChatSession {
  const { chat } = speaker
  const { organizationId, account } = scope.lease
  const now = deps.clock.now()
  return {
    organizationId,
    account,
    key: keyFor(scope, speaker),
    chatId: chat.id,
    isPrivate: chat.kind === 'private',
    agentId: agent.id,
    conversationId,
    createdAt: now,
    lastAt: now,
    ...defined({ thread: chat.thread, title: chat.title, busy: before?.busy }),
  }
}

type FreshSession = { changes: GatewayChange[]; agent: Agent; processes: 'ended' | 'kept' | 'none' }

/**
 * A new conversation for the speaker. Messages of the lane that still wait belong to the one before; its processes end
 * after its turns.
 */
export async function beginNewSession(
  speaker: Speaker,
  { scope, lane, number }: { scope: GatewayScope; lane: string; number: number },
  context: ServiceContext,
): Promise<FreshSession | undefined> {
  const before = await findSession(speaker, scope, context)
  const agent = await agentOfChat(speaker.chat, scope.settings, context)
  if (!agent) return undefined
  const former = before && (await findAgent(before.agentId, context))
  const processes =
    before && former
      ? await leaveConversation({ agent: former, conversationId: before.conversationId }, context)
      : 'none'
  const session = await newSession(speaker, { agent, scope, before }, context)
  const pinned: GatewayChange[] = before
    ? [{ type: 'pin-lane', lane, before: number, conversationId: before.conversationId }]
    : []
  return { changes: [...pinned, { type: 'save-session', session }], agent, processes }
}

/** Cancels every run of the session, the queued ones first, so that none of them begins. Returns how many. */
export async function stopSession(session: ChatSession, context: ServiceContext): Promise<number> {
  const { conversationId } = session
  const active = await listRuns({ conversationId, statuses: ['created', 'running'] }, 1000, context)
  const waiting = await listRuns({ conversationId, waiting: true }, 10, context)
  let count = 0
  // Newest first.
  for (const { id } of [...active, ...waiting]) {
    const run = await cancelRun(id, context)
    if (run.status !== 'completed' || !isSettled(run)) count += 1
  }
  return count
}
