import type { InboundReason } from './inbound.ts'
import type { Chat, Sender } from './incoming.ts'
import type { PairingState } from './pairing.ts'
import type { AccountSettings, ChatSettings } from './settings.ts'

/** `pair`: show the stranger a code. `refuse`: tell the sender once. `ignore`: say nothing. */
export type AccessDecision =
  | { type: 'allow' }
  | { type: 'pair' }
  | { type: 'refuse'; reason: InboundReason }
  | { type: 'ignore'; reason: InboundReason }

type Question = {
  chat: Chat
  sender: Sender
  isAddressed: boolean
  /** What was decided about this sender before. */
  pairing: PairingState | undefined
}

/** Settings of this chat; `*` are those of every group without its own. */
export const chatSettingsOf = (
  { groups }: Pick<AccountSettings, 'groups'>,
  { id, kind }: Pick<Chat, 'id' | 'kind'>,
): ChatSettings | undefined => groups[id] ?? (kind === 'private' ? undefined : groups['*'])

export function decideAccess(settings: AccountSettings, question: Question): AccessDecision {
  const { chat, sender } = question
  if (sender.isBot) return { type: 'ignore', reason: 'bot' }
  if (settings.access === 'disabled') return { type: 'ignore', reason: 'disabled' }
  return chat.kind === 'private' ? decidePrivate(settings, question) : decideGroup(settings, question)
}

function decidePrivate({ access, allow }: AccountSettings, { sender, pairing }: Question): AccessDecision {
  if (access === 'open' || allow.includes(sender.id) || allow.includes('*')) return { type: 'allow' }
  if (access === 'pairing') return pairing === 'approved' ? { type: 'allow' } : { type: 'pair' }
  return pairing === 'refused' ? { type: 'ignore', reason: 'not-allowed' } : { type: 'refuse', reason: 'not-allowed' }
}

/** A group and the people in it are allowed separately; pairing is for private chats only. */
function decideGroup(settings: AccountSettings, { chat, sender, isAddressed }: Question): AccessDecision {
  const group = chatSettingsOf(settings, chat)
  if (!group) return { type: 'ignore', reason: 'group-not-allowed' }
  const { allow = settings.allow, mention = true } = group
  if (!allow.includes(sender.id) && !allow.includes('*')) return { type: 'ignore', reason: 'not-allowed' }
  if (mention && !isAddressed) return { type: 'ignore', reason: 'no-mention' }
  return { type: 'allow' }
}

/** Approvers are a list of their own. Without one, the person of a private chat decides about their own agent's calls. */
export const mayApprove = (
  { approvers }: Pick<AccountSettings, 'approvers'>,
  { senderId, isPrivate }: { senderId: string; isPrivate: boolean },
): boolean => (approvers.length === 0 ? isPrivate : approvers.includes(senderId))
