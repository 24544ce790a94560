import { defined } from '../../core/defined.ts'
import { parseCommand } from '../../core/gateway/chat-command.ts'
import type { Attachment, Chat, InboundKind, Incoming, RawUpdate, Sender } from '../../core/gateway/incoming.ts'
import { CUT_LENGTH, HOLD_MS } from '../../core/gateway/join-parts.ts'

/** The fields of updates that Holdfast reads. An update is data of strangers: every field may be missing. */
type WireUser = { id: number; is_bot?: boolean; first_name?: string; last_name?: string; username?: string }
type WireChat = { id: number; type?: string; title?: string; is_forum?: boolean }
type WireEntity = { type: string; offset: number; length: number; user?: WireUser }
type WireFile = { file_id: string; file_name?: string; mime_type?: string; file_size?: number; duration?: number }

type WireMessage = {
  message_id: number
  message_thread_id?: number
  is_topic_message?: boolean
  from?: WireUser
  sender_chat?: WireChat
  chat: WireChat
  text?: string
  caption?: string
  entities?: WireEntity[]
  caption_entities?: WireEntity[]
  media_group_id?: string
  migrate_to_chat_id?: number
  reply_to_message?: { from?: WireUser; message_id?: number }
  photo?: (WireFile & { width?: number })[]
  document?: WireFile
  voice?: WireFile
  audio?: WireFile
  video?: WireFile
}

export type WireUpdate = {
  update_id: number
  message?: WireMessage
  edited_message?: WireMessage
  callback_query?: { id: string; from: WireUser; data?: string; message?: WireMessage }
  stopped_message_generation?: { chat?: WireChat; from?: WireUser; message_thread_id?: number }
}

export type Bot = { id: string; name: string }

/** What the update says to this bot. */
export function readUpdate(update: WireUpdate, bot: Bot | undefined): Incoming {
  const { message, callback_query: press, stopped_message_generation: stopped } = update
  if (press) return readPress(press)
  if (stopped?.chat && stopped.from)
    return { type: 'stop', chat: chatOf(stopped.chat, stopped.message_thread_id), sender: senderOf(stopped.from) }
  if (message?.chat) return readMessage(message, bot)
  return { type: 'ignored', reason: update.edited_message ? 'edited' : 'unknown-kind' }
}

function readMessage(message: WireMessage, bot: Bot | undefined): Incoming {
  const chat = chatOf(message.chat, threadOf(message))
  if (message.migrate_to_chat_id !== undefined) return { type: 'moved', chat, to: String(message.migrate_to_chat_id) }
  // Channels and anonymous administrators speak without an id of their own.
  if (!message.from || message.sender_chat) return { type: 'ignored', reason: 'anonymous', chat }
  const text = message.text ?? message.caption ?? ''
  const attachments = attachmentsOf(message)
  if (text === '' && attachments.length === 0) return { type: 'ignored', reason: 'service-message', chat }
  return {
    type: 'message',
    chat,
    sender: senderOf(message.from),
    messageId: String(message.message_id),
    text,
    attachments,
    isAddressed: chat.kind === 'private' || isAddressed(message, text, bot),
    ...defined({ album: message.media_group_id }),
  }
}

function readPress({ id, from, data = '', message }: NonNullable<WireUpdate['callback_query']>): Incoming {
  if (!message?.chat) return { type: 'ignored', reason: 'unknown-kind' }
  return { type: 'press', chat: chatOf(message.chat, threadOf(message)), sender: senderOf(from), pressId: id, data }
}

function isAddressed(
  { entities, caption_entities, reply_to_message }: WireMessage,
  text: string,
  bot: Bot | undefined,
) {
  if (!bot) return false
  if (String(reply_to_message?.from?.id) === bot.id) return true
  const name = `@${bot.name}`.toLowerCase()
  return [...(entities ?? []), ...(caption_entities ?? [])].some(({ type, offset, length, user }) => {
    const words = text.slice(offset, offset + length).toLowerCase()
    if (type === 'mention') return words === name
    if (type === 'text_mention') return String(user?.id) === bot.id
    return type === 'bot_command' && (words.endsWith(name) || !words.includes('@'))
  })
}

/** A reply outside of a forum also has a thread id, of no topic. */
const threadOf = ({ chat, is_topic_message, message_thread_id }: WireMessage): number | undefined =>
  is_topic_message || chat.is_forum ? message_thread_id : undefined

const KINDS: Readonly<Record<string, Chat['kind']>> = { private: 'private', group: 'group', supergroup: 'group' }

const chatOf = ({ id, type = '', title }: WireChat, thread: number | undefined): Chat => ({
  id: String(id),
  kind: KINDS[type] ?? 'channel',
  ...defined({ title, thread: thread === undefined ? undefined : String(thread) }),
})

const senderOf = ({ id, is_bot, first_name, last_name, username }: WireUser): Sender => ({
  id: String(id),
  name: [first_name, last_name].filter(Boolean).join(' ') || username || String(id),
  isBot: is_bot === true,
})

function attachmentsOf({ photo, document, voice, audio, video }: WireMessage): Attachment[] {
  // The sizes of one photo: the largest is the last.
  const largest = photo?.at(-1)
  return [
    ...(largest ? [fileOf('image', { ...largest, mime_type: 'image/jpeg', file_name: 'photo.jpg' })] : []),
    ...(document
      ? [fileOf(/^image\/(png|jpe?g|gif|webp)$/.test(document.mime_type ?? '') ? 'image' : 'file', document)]
      : []),
    ...(voice ? [fileOf('voice', { mime_type: 'audio/ogg', ...voice })] : []),
    ...(audio ? [fileOf('file', audio)] : []),
    ...(video ? [fileOf('file', video)] : []),
  ]
}

const fileOf = (kind: Attachment['kind'], file: WireFile): Attachment => ({
  kind,
  handle: file.file_id,
  ...defined({ name: file.file_name, mediaType: file.mime_type, bytes: file.file_size, seconds: file.duration }),
})

/** The update as it is stored. Its key names the bot, because another bot counts its updates from the start. */
export function rawUpdateOf(update: WireUpdate, bot: Bot): RawUpdate {
  const incoming = readUpdate(update, bot)
  const { chat, senderId } = whereOf(incoming)
  const message = update.message ?? update.edited_message
  const about = update.callback_query?.id ?? (message ? `${message.chat?.id}.${message.message_id}` : 'other')
  return {
    key: `${bot.id}/${update.update_id}/${about}`,
    lane: chat ? [chat.id, chat.thread].filter(Boolean).join(':') : 'none',
    kind: kindOf(incoming, bot),
    raw: JSON.stringify(update),
    holdMs: holdOf(incoming),
    ...defined({
      senderId,
      messageKey: incoming.type === 'message' ? `${bot.id}/${incoming.chat.id}/${incoming.messageId}` : undefined,
    }),
  }
}

const whereOf = (incoming: Incoming): { chat?: Chat; senderId?: string } =>
  incoming.type === 'message' || incoming.type === 'press' || incoming.type === 'stop'
    ? { chat: incoming.chat, senderId: incoming.sender.id }
    : defined({ chat: incoming.chat })

function kindOf(incoming: Incoming, bot: Bot): InboundKind {
  switch (incoming.type) {
    case 'message':
      return parseCommand(incoming.text, bot.name) ? 'command' : 'message'
    case 'press':
    case 'stop':
      return incoming.type
    case 'moved':
    case 'unreadable':
    case 'ignored':
      return 'other'
  }
}

function holdOf(incoming: Incoming): number {
  if (incoming.type !== 'message') return 0
  if (incoming.album !== undefined) return HOLD_MS.album
  return incoming.text.length >= CUT_LENGTH ? HOLD_MS.cutText : 0
}
