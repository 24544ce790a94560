import { z } from 'zod'
import { ACCOUNT_STATES } from '../../../core/gateway/account.ts'
import type { Identity } from '../../../core/gateway/identity.ts'
import { INBOUND_REASONS, type InboundReason, type InboundRow } from '../../../core/gateway/inbound.ts'
import { INBOUND_KINDS } from '../../../core/gateway/incoming.ts'
import { OUTBOUND_STATES, type OutboundRow } from '../../../core/gateway/outbound.ts'
import type { Pairing } from '../../../core/gateway/pairing.ts'
import { PLATFORM_NAMES } from '../../../core/gateway/platforms.ts'
import type { ChatSession } from '../../../core/gateway/session.ts'
import type { ShownAccount } from '../../../service/gateway/accounts.ts'

const time = (what: string) => z.iso.datetime().nullable().describe(what)
const text = (what: string) => z.string().describe(what)
const maybe = (what: string) => z.string().nullable().describe(what)
const at = (moment: number | undefined): string | null => (moment === undefined ? null : new Date(moment).toISOString())

const account = text('Name of the account in the configuration.')
const chatId = text('Id of the chat at the platform.')
const thread = maybe('Id of the topic or thread; null for none.')

export const accountSchema = z.lazy(() =>
  z
    .object({
      name: account,
      platform: z.enum(PLATFORM_NAMES).describe('The chat platform.'),
      state: z.enum(ACCOUNT_STATES).describe('Whether it receives, or what it waits for.'),
      detail: maybe('Why it is in this state.'),
      bot: maybe('Name of the bot at the platform.'),
      owner: maybe('The server process that receives and sends for it; null for none.'),
      last_success_at: time('When the platform last answered.'),
      next_try_at: time('When it connects again, after a failure.'),
      inbound_pending: z.int().describe('Updates that are not handled yet.'),
      inbound_oldest_at: time('When the oldest of them arrived.'),
      outbound_open: z.int().describe('Messages that are not sent yet.'),
      outbound_oldest_at: time('When the oldest of them was written.'),
      outbound_unknown: z
        .int()
        .describe('Messages of which it is not known whether they arrived, and the chat was not told.'),
      runs_owed: z.int().describe('Runs whose answer is owed to a chat.'),
    })
    .meta({ id: 'GatewayAccount', description: 'One bot on a chat platform.' }),
)

export const wireAccount = (one: ShownAccount): z.output<typeof accountSchema> => ({
  name: one.name,
  platform: one.platform,
  state: one.state,
  detail: one.detail ?? null,
  bot: one.botName ?? null,
  owner: one.owner ?? null,
  last_success_at: at(one.lastSuccessAt),
  next_try_at: at(one.nextTryAt),
  inbound_pending: one.pendingInbound,
  inbound_oldest_at: at(one.oldestInboundAt),
  outbound_open: one.openOutbound,
  outbound_oldest_at: at(one.oldestOutboundAt),
  outbound_unknown: one.unknownOutbound,
  runs_owed: one.openDeliveries,
})

export const sessionSchema = z.lazy(() =>
  z
    .object({
      account,
      key: text('What the messages of the session have in common: chat, topic, person.'),
      chat_id: chatId,
      thread,
      title: maybe('Title of the chat.'),
      agent_id: text('The agent that answers.'),
      conversation_id: text('The conversation of the session.'),
      busy: maybe('What a message does while a turn runs, if it was chosen in the chat.'),
      created_at: time('When the conversation began.'),
      last_at: time('When the last message came.'),
    })
    .meta({ id: 'GatewaySession', description: 'A chat, or a part of one, with its conversation.' }),
)

export const wireSession = (one: ChatSession): z.output<typeof sessionSchema> => ({
  account: one.account,
  key: one.key,
  chat_id: one.chatId,
  thread: one.thread ?? null,
  title: one.title ?? null,
  agent_id: one.agentId,
  conversation_id: one.conversationId,
  busy: one.busy ?? null,
  created_at: at(one.createdAt),
  last_at: at(one.lastAt),
})

const reasons = Object.keys(INBOUND_REASONS) as [InboundReason, ...InboundReason[]]

export const inboundSchema = z.lazy(() =>
  z
    .object({
      number: z.int().describe('Position in the order of arrival; the cursor of the list.'),
      account,
      key: text('Identifies the update, also when it is delivered again.'),
      kind: z.enum(INBOUND_KINDS).describe('What the update is.'),
      lane: text('The chat and its topic: updates of one lane are handled in their order.'),
      sender_id: maybe('Id of the sender at the platform.'),
      state: z
        .enum(['pending', 'run', 'ended'])
        .describe('`run`: it reached a run. `ended`: it did not, for `reason`.'),
      reason: z.enum(reasons).nullable().describe('Why it became no run.'),
      waits_for: maybe('What a pending update waits for.'),
      run_id: maybe('The run that it reached.'),
      conversation_id: maybe('The conversation of that run.'),
      received_at: time('When it was stored, before it was acknowledged.'),
      ended_at: time('When it was handled.'),
    })
    .meta({ id: 'GatewayInbound', description: 'One update of a chat platform, and what became of it.' }),
)

export const wireInbound = (one: InboundRow): z.output<typeof inboundSchema> => ({
  number: one.number,
  account: one.account,
  key: one.key,
  kind: one.kind,
  lane: one.lane,
  sender_id: one.senderId ?? null,
  state: one.state,
  reason: one.reason ?? null,
  waits_for: one.note ?? null,
  run_id: one.runId ?? null,
  conversation_id: one.conversationId ?? null,
  received_at: at(one.receivedAt),
  ended_at: at(one.endedAt),
})

export const outboundSchema = z.lazy(() =>
  z
    .object({
      number: z.int().describe('Position in the order of writing; the cursor of the list.'),
      account,
      key: text('Identifies the message in its account.'),
      chat_id: chatId,
      thread,
      run_id: maybe('The run whose answer it is.'),
      text: text('What it says.'),
      state: z.enum(OUTBOUND_STATES).describe('`unknown`: it may have arrived, and it is not sent again.'),
      message_id: maybe('Id of the message at the platform.'),
      attempts: z.int().describe('Calls that failed and counted.'),
      lost_placeholders: z.int().describe('Empty messages before it that may have arrived.'),
      error: maybe('Why the last call failed.'),
      due_at: time('When it is tried next.'),
      created_at: time('When it was written.'),
      updated_at: time('When it last changed.'),
    })
    .meta({ id: 'GatewayOutbound', description: 'One message of a bot, and whether it arrived.' }),
)

export const wireOutbound = (one: OutboundRow): z.output<typeof outboundSchema> => ({
  number: one.number,
  account: one.account,
  key: one.key,
  chat_id: one.chatId,
  thread: one.thread ?? null,
  run_id: one.runId ?? null,
  text: one.body.text,
  state: one.state,
  message_id: one.messageId ?? null,
  attempts: one.attempts,
  lost_placeholders: one.lost,
  error: one.error ?? null,
  due_at: one.state === 'pending' ? at(one.dueAt) : null,
  created_at: at(one.createdAt),
  updated_at: at(one.updatedAt),
})

export const pairingSchema = z.lazy(() =>
  z
    .object({
      account,
      sender_id: text('Id of the person at the platform.'),
      name: text('How the person calls themselves there.'),
      state: z.enum(['pending', 'approved', 'refused']).describe('`refused`: was told once that the bot is private.'),
      code: maybe('The code that the person was shown; null once it is of no use.'),
      created_at: time('When the person first wrote.'),
      expires_at: time('Until when the code can be approved.'),
      approved_by: maybe('Who approved it.'),
    })
    .meta({ id: 'GatewayPairing', description: 'A person who may talk to a bot, or asked to.' }),
)

export const wirePairing = (one: Pairing): z.output<typeof pairingSchema> => ({
  account: one.account,
  sender_id: one.senderId,
  name: one.name,
  state: one.state,
  code: one.state === 'pending' ? (one.code ?? null) : null,
  created_at: at(one.createdAt),
  expires_at: at(one.expiresAt),
  approved_by: one.approvedBy ?? null,
})

export const identitySchema = z.lazy(() =>
  z
    .object({
      account,
      sender_id: text('Id of the person at the platform.'),
      chat_id: text('Id of their private chat with the bot.'),
      person_id: text('The person. Accounts of one person have the same.'),
      name: text('How the person calls themselves there.'),
      linked_at: time('When the account was linked, or a code for it was first shown.'),
    })
    .meta({ id: 'GatewayIdentity', description: 'An account of a person on a chat platform.' }),
)

export const wireIdentity = (one: Identity): z.output<typeof identitySchema> => ({
  account: one.account,
  sender_id: one.senderId,
  chat_id: one.chatId,
  person_id: one.personId,
  name: one.name,
  linked_at: at(one.linkedAt),
})
