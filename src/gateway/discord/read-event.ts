import { defined } from '../../core/defined.ts'
import { CHAT_COMMANDS, parseCommand } from '../../core/gateway/chat-command.ts'
import type { Attachment, Chat, InboundKind, Incoming, RawUpdate } from '../../core/gateway/incoming.ts'

/** The fields that Holdfast reads. An event is data of strangers: every field may be missing. */
type WireUser = { id: string; username?: string; global_name?: string | null; bot?: boolean }

export type WireMessage = {
  id: string
  type?: number
  channel_id: string
  guild_id?: string
  author?: WireUser
  member?: { nick?: string | null }
  webhook_id?: string
  content?: string
  mentions?: WireUser[]
  attachments?: {
    id: string
    filename?: string
    content_type?: string
    size?: number
    url?: string
    duration_secs?: number
  }[]
  referenced_message?: { author?: WireUser } | null
}

export type WireInteraction = {
  id: string
  type: number
  token: string
  application_id?: string
  channel_id?: string
  guild_id?: string
  user?: WireUser
  member?: { user?: WireUser; nick?: string | null }
  message?: { id?: string }
  data?: { name?: string; custom_id?: string; options?: { name?: string; value?: unknown }[] }
}

/** What is stored. `parent`: the channel of a thread, which Discord does not deliver with its messages. */
export type StoredEvent = { parent?: string } & (
  | { kind: 'message'; message: WireMessage }
  | { kind: 'edited'; message: WireMessage }
  | { kind: 'interaction'; interaction: WireInteraction }
)

export type Bot = { id: string; name: string }

/** Messages of people: plain ones and replies. */
const SAID = new Set([undefined, 0, 19])
export const COMMAND = 2
export const COMPONENT = 3

export function readEvent(stored: StoredEvent, bot: Bot | undefined): Incoming {
  const { parent } = stored
  switch (stored.kind) {
    case 'message':
      return readMessage(stored.message, { parent, bot })
    case 'edited':
      return { type: 'ignored', reason: 'edited' }
    case 'interaction':
      return readInteraction(stored.interaction, parent)
  }
}

type Reading = { parent: string | undefined; bot: Bot | undefined }

function readMessage(message: WireMessage, { parent, bot }: Reading): Incoming {
  const { author, content = '', attachments = [], type, member, webhook_id } = message
  if (!author) return { type: 'ignored', reason: 'anonymous' }
  const chat = chatOf(message, { userId: author.id, parent })
  if (!SAID.has(type)) return { type: 'ignored', reason: 'service-message', chat }
  return {
    type: 'message',
    chat,
    sender: senderOf(author, member?.nick, webhook_id !== undefined),
    messageId: message.id,
    text: plainText(message, bot),
    attachments: attachments.map(fileOf),
    isAddressed: chat.kind === 'private' || isAddressed(message, content, bot),
  }
}

function isAddressed(
  { mentions = [], referenced_message }: WireMessage,
  content: string,
  bot: Bot | undefined,
): boolean {
  if (!bot) return false
  const isMentioned = mentions.some(({ id }) => id === bot.id) || new RegExp(`<@!?${bot.id}>`).test(content)
  return isMentioned || referenced_message?.author?.id === bot.id
}

/** Mentions are written out, and the one of the bot is left out. */
export function plainText({ content = '', mentions = [] }: WireMessage, bot: Bot | undefined): string {
  const names = new Map(mentions.map((user) => [user.id, nameOf(user)]))
  return content
    .replaceAll(/<@!?(\d+)>/g, (whole, id: string) =>
      id === bot?.id ? '' : names.has(id) ? `@${names.get(id)}` : whole,
    )
    .trim()
}

function readInteraction(interaction: WireInteraction, parent: string | undefined): Incoming {
  const { type, token, application_id = '', channel_id, guild_id, member, data } = interaction
  const user = member?.user ?? interaction.user
  if (!user || channel_id === undefined) return { type: 'ignored', reason: 'unknown-kind' }
  const chat = chatOf({ channel_id, ...defined({ guild_id }) }, { userId: user.id, parent })
  const sender = senderOf(user, member?.nick, false)
  if (type === COMPONENT && data?.custom_id !== undefined)
    return { type: 'press', chat, sender, pressId: `${application_id}|${token}`, data: data.custom_id }
  const name = data?.name?.toLowerCase() ?? ''
  if (type !== COMMAND || !(name in CHAT_COMMANDS)) return { type: 'ignored', reason: 'unknown-kind', chat }
  const value = data?.options?.[0]?.value
  const text = `/${name} ${value === undefined ? '' : String(value)}`.trim()
  return { type: 'message', chat, sender, messageId: interaction.id, text, attachments: [], isAddressed: true }
}

/** A private chat has the id of its person, as everywhere in the gateway. A thread belongs to its channel. */
const chatOf = (
  { channel_id, guild_id }: Pick<WireMessage, 'channel_id' | 'guild_id'>,
  { userId, parent }: { userId: string; parent: string | undefined },
): Chat => {
  if (guild_id === undefined) return { id: userId, kind: 'private' }
  return parent === undefined ? { id: channel_id, kind: 'group' } : { id: parent, kind: 'group', thread: channel_id }
}

export const nameOf = ({ global_name, username, id }: WireUser): string => global_name || username || id

const senderOf = (user: WireUser, nick: string | null | undefined, isWebhook: boolean) => ({
  id: user.id,
  name: nick || nameOf(user),
  isBot: user.bot === true || isWebhook,
})

const IMAGES = /^image\/(png|jpe?g|gif|webp)$/

const fileOf = (file: NonNullable<WireMessage['attachments']>[number]): Attachment => {
  const mediaType = file.content_type?.split(';')[0]
  return {
    kind: IMAGES.test(mediaType ?? '') ? 'image' : file.duration_secs !== undefined ? 'voice' : 'file',
    handle: file.url ?? file.id,
    ...defined({ name: file.filename, mediaType, bytes: file.size, seconds: file.duration_secs }),
  }
}

export function rawUpdateOf(stored: StoredEvent, bot: Bot): RawUpdate {
  const incoming = readEvent(stored, bot)
  const chat = 'chat' in incoming ? incoming.chat : undefined
  const isSaid = incoming.type === 'message' && stored.kind === 'message'
  return {
    key: `${bot.id}/${keyOf(stored)}`,
    lane: chat ? [chat.id, chat.thread].filter(Boolean).join(':') : 'none',
    kind: kindOf(incoming, bot),
    raw: JSON.stringify(stored),
    holdMs: 0,
    ...defined({
      senderId: 'sender' in incoming ? incoming.sender.id : undefined,
      messageKey: isSaid ? `${bot.id}/${incoming.messageId}` : undefined,
    }),
  }
}

const keyOf = (stored: StoredEvent): string =>
  stored.kind === 'interaction' ? `interaction/${stored.interaction.id}` : `${stored.kind}/${stored.message.id}`

function kindOf(incoming: Incoming, bot: Bot): InboundKind {
  if (incoming.type === 'message') return parseCommand(incoming.text, bot.name) ? 'command' : 'message'
  return incoming.type === 'press' ? 'press' : 'other'
}

export function readStored(text: string, bot: Bot | undefined): Incoming {
  try {
    return readEvent(JSON.parse(text) as StoredEvent, bot)
  } catch {
    return { type: 'ignored', reason: 'unknown-kind' }
  }
}

/** The fields that are stored. */
export function picked(message: WireMessage): WireMessage {
  const { id, type, channel_id, guild_id, author, member, webhook_id, content, mentions, referenced_message } = message
  const attachments = message.attachments?.map(({ id: file, filename, content_type, size, url, duration_secs }) => ({
    id: file,
    ...defined({ filename, content_type, size, url, duration_secs }),
  }))
  const answered = referenced_message?.author && { author: shortUser(referenced_message.author) }
  return {
    id,
    channel_id,
    ...defined({
      type,
      guild_id,
      author: author && shortUser(author),
      member: member?.nick ? { nick: member.nick } : undefined,
      webhook_id,
      content,
      mentions: mentions?.map(shortUser),
      attachments,
      referenced_message: answered,
    }),
  }
}

const shortUser = ({ id, username, global_name, bot }: WireUser): WireUser => ({
  id,
  ...defined({ username, global_name: global_name ?? undefined, bot }),
})
