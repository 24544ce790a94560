import { type AccessDecision, decideAccess } from '../core/gateway/access.ts'
import { parseCommand } from '../core/gateway/chat-command.ts'
import type { InboundReason, InboundRow } from '../core/gateway/inbound.ts'
import type { Incoming } from '../core/gateway/incoming.ts'
import type { Pairing } from '../core/gateway/pairing.ts'
import { addressOf } from '../core/gateway/session.ts'
import type { GatewayChange } from '../ports/gateway-store.ts'
import { pressButton } from '../service/gateway/chat-approvals.ts'
import type { FileTarget } from '../service/gateway/chat-files.ts'
import { findSession, stopSession } from '../service/gateway/chat-sessions.ts'
import { findPairing, pairStranger } from '../service/gateway/pairings.ts'
import { type ChatSendResult, sendChatMessage } from '../service/gateway/send-chat-message.ts'
import { endUpdates, isRepeatedMessage } from '../service/gateway/updates.ts'
import type { AccountDeps } from './account-deps.ts'
import { runCommand } from './chat-commands.ts'
import { inputsOf } from './message-inputs.ts'

/** A stored update, and what it says. */
export type ReadUpdate = { row: InboundRow; incoming: Incoming }

type Handled = { type: 'done' } | { type: 'waits'; forMs: number }

const DONE: Handled = { type: 'done' }

type IncomingMessage = Extract<Incoming, { type: 'message' }>

/** A message, with the parts into which the platform split it. */
export async function handleMessage(updates: readonly ReadUpdate[], deps: AccountDeps): Promise<Handled> {
  const [first] = updates
  if (!first) return DONE
  const { row, incoming } = first
  const end = (reason: InboundReason, changes: GatewayChange[] = []) =>
    endUpdates({ numbers: updates.map((update) => update.row.number), reason, changes }, deps.scope, deps.context)
  if (incoming.type === 'moved') {
    await end('moved-chat', [{ type: 'move-chat', from: incoming.chat.id, to: incoming.to }])
    return DONE
  }
  if (incoming.type === 'unreadable') {
    const { reason, changes } = tellUnreadable(row, incoming, deps)
    await end(reason, changes)
    return DONE
  }
  if (incoming.type !== 'message') {
    await end(incoming.type === 'ignored' ? incoming.reason : 'unreadable')
    return DONE
  }
  if (await isRepeatedMessage(row, deps.scope, deps.context)) {
    await end('duplicate')
    return DONE
  }
  const refused = await refuseStranger(first.row, incoming, deps)
  if (refused) {
    await end(refused.reason, refused.changes)
    return DONE
  }
  const messages = updates.map((update) => ({ row: update.row, message: update.incoming as IncomingMessage }))
  if (messages.every(({ message }) => message.text.trim() === '' && message.attachments.length === 0)) {
    await end('empty')
    return DONE
  }
  return toHandled(await send(messages, deps))
}

async function send(
  messages: readonly { row: InboundRow; message: IncomingMessage }[],
  deps: AccountDeps,
): Promise<ChatSendResult> {
  const { chat, sender, messageId } = messages[0]!.message
  const message = {
    rows: messages.map(({ row }) => row),
    speaker: { chat, sender },
    inputs: (target: FileTarget) => inputsOf(messages, target, deps),
    messageId,
  }
  return sendChatMessage(message, deps.scope, deps.context)
}

const toHandled = (result: ChatSendResult): Handled =>
  result.type === 'waits' ? { type: 'waits', forMs: result.forMs } : DONE

/** Commands, buttons and the stop button of the platform: they do not wait behind messages. */
export async function handleNow({ row, incoming }: ReadUpdate, deps: AccountDeps): Promise<void> {
  const { scope, context, platform, signal } = deps
  const numbers = [row.number]
  switch (incoming.type) {
    case 'message': {
      if (await isRepeatedMessage(row, scope, context))
        return endUpdates({ numbers, reason: 'duplicate' }, scope, context)
      const refused = await refuseStranger(row, incoming, deps)
      if (refused) return endUpdates({ numbers, ...refused }, scope, context)
      const command = parseCommand(incoming.text, deps.botName())
      if (!command) return endUpdates({ numbers, reason: 'unreadable' }, scope, context)
      const { chat, sender } = incoming
      const { text, changes } = await runCommand(command, { row, speaker: { chat, sender }, deps })
      const { organizationId, account } = scope.lease
      const createdAt = context.deps.clock.now()
      const key = `update/${row.number}`
      const reply: GatewayChange = {
        type: 'add-outbound',
        message: { organizationId, account, key, ...addressOf(chat), body: { text }, createdAt },
      }
      return endUpdates({ numbers, reason: 'command', changes: [...changes, reply] }, scope, context)
    }
    case 'press': {
      const { chat, sender, data, pressId } = incoming
      const result = sender.isBot
        ? { text: '', isAccepted: false, changes: [] }
        : await pressButton({ data, speaker: { chat, sender } }, scope, context)
      // The decision is on disk. People wait for this answer, so it comes before the rest.
      await platform.acknowledgePress(pressId, result.text, signal)
      const reason = result.isAccepted ? 'press' : 'press-refused'
      return endUpdates({ numbers, reason, changes: result.changes }, scope, context)
    }
    case 'stop': {
      const session = await findSession(incoming, scope, context)
      if (session) await stopSession(session, context)
      const at = context.deps.clock.now()
      const dropped: GatewayChange = { type: 'drop-lane', lane: row.lane, before: row.number, at }
      return endUpdates({ numbers, reason: 'stop', changes: [dropped] }, scope, context)
    }
    case 'moved':
    case 'unreadable':
    case 'ignored':
      await handleMessage([{ row, incoming }], deps)
  }
}

const DAY_MS = 86_400_000

/** People who may not talk here are not told anything. */
function tellUnreadable(
  row: InboundRow,
  { chat, sender, reason, say }: Extract<Incoming, { type: 'unreadable' }>,
  { scope }: AccountDeps,
): Refusal {
  const decision = decideAccess(scope.settings, { chat, sender, isAddressed: true, pairing: undefined })
  if (decision.type === 'ignore') return { reason: decision.reason, changes: [] }
  const { organizationId, account } = scope.lease
  // The key says it: one such message in a chat and a day.
  const key = `${reason}/${chat.id}/${Math.floor(row.receivedAt / DAY_MS)}`
  const message = {
    organizationId,
    account,
    key,
    ...addressOf(chat),
    body: { text: say },
    createdAt: row.receivedAt,
  }
  return { reason, changes: [{ type: 'add-outbound', message }] }
}

type Refusal = { reason: InboundReason; changes: GatewayChange[] }

/** Why this sender is not heard here, with the one answer that a stranger gets. Undefined: the message is for the agent. */
async function refuseStranger(
  row: InboundRow,
  message: IncomingMessage,
  deps: AccountDeps,
): Promise<Refusal | undefined> {
  const { chat, sender } = message
  const { scope, context } = deps
  const isAddressed = message.isAddressed || (await isFollowed(message, deps))
  const known = chat.kind === 'private' ? await findPairing(sender.id, scope, context) : undefined
  const decision: AccessDecision = decideAccess(scope.settings, { chat, sender, isAddressed, pairing: known?.state })
  switch (decision.type) {
    case 'allow':
      return undefined
    case 'ignore':
      return { reason: decision.reason, changes: [] }
    case 'pair': {
      const stranger = { sender, address: addressOf(chat), known, number: row.number }
      return { reason: 'stranger', changes: await pairStranger(stranger, scope, context) }
    }
    case 'refuse':
      return { reason: decision.reason, changes: refusalOnce(row, { chat, sender }, deps) }
  }
}

/** A thread in which the bot already speaks, where the platform has such threads. */
async function isFollowed({ chat, sender }: IncomingMessage, deps: AccountDeps): Promise<boolean> {
  if (chat.thread === undefined || !deps.platform.capabilities.threadsAreConversations) return false
  const session = await findSession({ chat, sender }, deps.scope, deps.context)
  return session?.thread === chat.thread
}

function refusalOnce(row: InboundRow, { chat, sender }: Pick<IncomingMessage, 'chat' | 'sender'>, deps: AccountDeps) {
  const { organizationId, account } = deps.scope.lease
  const createdAt = deps.context.deps.clock.now()
  const pairing: Pairing = {
    organizationId,
    account,
    senderId: sender.id,
    name: sender.name,
    state: 'refused',
    createdAt,
  }
  const body = { text: `This bot is private. Your id is ${sender.id}.` }
  const key = `update/${row.number}`
  const message = { organizationId, account, key, ...addressOf(chat), body, createdAt }
  return [
    { type: 'save-pairing', pairing },
    { type: 'add-outbound', message },
  ] satisfies GatewayChange[]
}
