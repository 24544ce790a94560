import { defined } from '../../core/defined.ts'
import { chatSettingsOf } from '../../core/gateway/access.ts'
import type { InboundRow } from '../../core/gateway/inbound.ts'
import { addressOf, type Delivery } from '../../core/gateway/session.ts'
import { parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import { findAgent } from '../agents/agents.ts'
import { findConversation } from '../conversations/conversations.ts'
import { type NewInput, type SendResult, sendInputs } from '../messages/send-message.ts'
import type { ServiceContext } from '../service-context.ts'
import type { FileTarget } from './chat-files.ts'
import { busyModeOf, findSession, type OpenSession, openSession, type Speaker } from './chat-sessions.ts'
import { commitChanges, type GatewayScope } from './gateway-scope.ts'

type ChatMessage = {
  /** The updates that are this message. */
  rows: readonly InboundRow[]
  speaker: Speaker
  /** Made once the conversation is known: files go to its workspace. */
  inputs(target: FileTarget): Promise<NewInput[]>
  /** The message to answer to. */
  messageId: string
}

/** `waits`: the message stays where it is and is tried again. */
export type ChatSendResult =
  | { type: 'taken'; runId: RunId }
  | { type: 'ended' }
  | { type: 'waits'; note: string; forMs: number }

const QUEUE_FULL_MS = 1_000
const APPROVAL_MS = 2_000

/**
 * Hands a message of a chat to its agent. The otids of its inputs come from the updates, so that a repetition after a
 * crash finds the run of the first time.
 */
export async function sendChatMessage(
  message: ChatMessage,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<ChatSendResult> {
  const opened = await storedSession(message.speaker, scope, context)
  if (!opened) return endWithout(message, scope, context)
  const { session } = opened
  const conversationId = message.rows[0]?.conversationId ?? session.conversationId
  const sent = await trySend(message, { opened, conversationId, scope }, context)
  switch (sent.type) {
    case 'waits':
      return waitFor(message, { sent, scope }, context)
    case 'refused':
      return refuse(message, { reason: sent.reason, scope }, context)
    case 'sent': {
      const changes = changesOf(message, { sent: sent.result, conversationId, scope }, context)
      const now = context.deps.clock.now()
      await commitChanges(
        [...changes, { type: 'touch-session', key: session.key, address: addressOf(message.speaker.chat), at: now }],
        scope,
        context,
      )
      return { type: 'taken', runId: sent.result.runId }
    }
  }
}

/** A new session is stored before its first run, or a crash would leave a run in a conversation that no session names. */
async function storedSession(
  speaker: Speaker,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<OpenSession | undefined> {
  const opened = await openSession(speaker, scope, context)
  if (!opened?.isNew) return opened
  const known = await findSession(speaker, scope, context)
  const type = known ? 'save-session' : 'add-session'
  await commitChanges([{ type, session: opened.session }], scope, context)
  // Another lane may have opened it at the same moment.
  const session = (await findSession(speaker, scope, context)) ?? opened.session
  return { ...opened, session }
}

type Tried =
  | { type: 'sent'; result: Pick<SendResult, 'type' | 'runId' | 'request'> }
  | { type: 'waits'; note: string; forMs: number; runId?: RunId }
  | { type: 'refused'; reason: string }

type SendTarget = { opened: OpenSession; conversationId: OpenSession['session']['conversationId']; scope: GatewayScope }

async function trySend(
  { speaker, inputs }: ChatMessage,
  { opened, conversationId, scope }: SendTarget,
  context: ServiceContext,
): Promise<Tried> {
  const { settings, lease } = scope
  const { chat, sender } = speaker
  const conversation = await findConversation(conversationId, context)
  const owner = conversation && (await findAgent(conversation.agentId, context))
  if (!conversation || !owner)
    return {
      type: 'refused',
      reason: `This conversation was deleted. Send ${scope.commandPrefix}new to begin another one.`,
    }
  const toolset = chatSettingsOf(settings, chat)?.tools ?? settings.tools
  const only = defined({ onlyTools: toolset === undefined ? undefined : (settings.toolsets[toolset] ?? []) })
  try {
    const result = await sendInputs(
      {
        agent: owner,
        conversationId,
        conversation,
        inputs: await inputs({ agent: owner, conversationId, ...only }),
        policy: busyModeOf(opened.session, settings, chat),
        streamTokens: true,
        metadata: { gateway: { account: lease.account, chat_id: chat.id, sender_id: sender.id } },
        ...only,
      },
      context,
    )
    return { type: 'sent', result }
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    return afterProblem(fault)
  }
}

function afterProblem({ kind, message, details }: Problem): Tried {
  const runId = parseId('run', String(details.runId ?? ''))
  if (kind === 'queue-full')
    return { type: 'waits', note: 'the queue of its conversation is full', forMs: QUEUE_FULL_MS }
  if (kind === 'pending-approval')
    return { type: 'waits', note: 'a call waits for approval', forMs: APPROVAL_MS, ...defined({ runId }) }
  // The message reached a run before the crash, with attachments that look different now.
  if (kind === 'conflict' && runId) return { type: 'sent', result: { type: 'repeated', runId, request: runId } }
  return { type: 'refused', reason: message }
}

type SentParts = {
  sent: Pick<SendResult, 'type' | 'runId' | 'request'>
  conversationId: Delivery['conversationId']
  scope: GatewayScope
}

function changesOf(
  { rows, speaker, messageId }: ChatMessage,
  { sent, conversationId, scope }: SentParts,
  { deps }: ServiceContext,
): GatewayChange[] {
  const { organizationId, account } = scope.lease
  const at = deps.clock.now()
  const delivery: Delivery = {
    runId: sent.runId,
    organizationId,
    account,
    ...addressOf(speaker.chat),
    ...defined({ replyTo: speaker.chat.kind === 'private' ? undefined : messageId }),
    conversationId,
    state: 'open',
    isUnprompted: false,
    createdAt: at,
  }
  const [first, ...parts] = rows.map(({ number }) => number)
  const ended = { type: 'end-inbound', runId: sent.runId, conversationId, at } as const
  return [
    { ...ended, numbers: [first!] },
    ...(parts.length > 0 ? [{ ...ended, numbers: parts, reason: 'merged' as const }] : []),
    { type: 'add-delivery', delivery },
    // If the run that it joined ends without reading it, the message gets this run.
    ...(sent.request === sent.runId
      ? []
      : [
          {
            type: 'add-delivery' as const,
            delivery: { ...delivery, runId: sent.request, state: 'reserved' as const, after: sent.runId },
          },
        ]),
  ]
}

async function waitFor(
  { rows, speaker }: ChatMessage,
  { sent, scope }: { sent: Extract<Tried, { type: 'waits' }>; scope: GatewayScope },
  context: ServiceContext,
): Promise<ChatSendResult> {
  const { note, forMs, runId } = sent
  const prefix = scope.commandPrefix
  const now = context.deps.clock.now()
  const [first] = rows
  if (!first) return { type: 'ended' }
  const { organizationId, account } = scope.lease
  const changes: GatewayChange[] =
    first.note === note ? [] : [{ type: 'note-inbound', number: first.number, note, dueAt: now }]
  if (runId && first.note !== note)
    changes.push({
      type: 'add-outbound',
      message: {
        organizationId,
        account,
        key: `run/${runId}/waits`,
        ...addressOf(speaker.chat),
        runId,
        body: {
          text: `I got your message. I will answer it when the waiting call is approved or denied: ${prefix}approve or ${prefix}deny.`,
        },
        createdAt: now,
      },
    })
  if (changes.length > 0) await commitChanges(changes, scope, context)
  return { type: 'waits', note, forMs }
}

async function refuse(
  { rows, speaker }: ChatMessage,
  { reason, scope }: { reason: string; scope: GatewayScope },
  context: ServiceContext,
): Promise<ChatSendResult> {
  const at = context.deps.clock.now()
  const { organizationId, account } = scope.lease
  const numbers = rows.map(({ number }) => number)
  await commitChanges(
    [
      { type: 'end-inbound', numbers, reason: 'refused', at },
      {
        type: 'add-outbound',
        message: {
          organizationId,
          account,
          key: `update/${numbers[0]}`,
          ...addressOf(speaker.chat),
          body: { text: reason },
          createdAt: at,
        },
      },
    ],
    scope,
    context,
  )
  return { type: 'ended' }
}

const endWithout = async (
  message: ChatMessage,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<ChatSendResult> => {
  const numbers = message.rows.map(({ number }) => number)
  const { organizationId, account } = scope.lease
  const at = context.deps.clock.now()
  await commitChanges(
    [
      { type: 'end-inbound', numbers, reason: 'no-agent', at },
      {
        type: 'add-outbound',
        message: {
          organizationId,
          account,
          key: `update/${numbers[0]}`,
          ...addressOf(message.speaker.chat),
          body: {
            text: 'The agent of this bot does not exist. Its owner has to name another one in the configuration.',
          },
          createdAt: at,
        },
      },
    ],
    scope,
    context,
  )
  return { type: 'ended' }
}
