import { defined } from '../../core/defined.ts'
import { CHAT_COMMANDS, parseCommand } from '../../core/gateway/chat-command.ts'
import type { Attachment, Chat, InboundKind, Incoming, RawUpdate } from '../../core/gateway/incoming.ts'
import { plainText } from './mrkdwn.ts'

/** The fields that Holdfast reads. An event is data of strangers: every field may be missing. */
type WireFile = {
  id: string
  name?: string
  mimetype?: string
  size?: number
  url_private_download?: string
  url_private?: string
  subtype?: string
  duration_ms?: number
}

export type WireMessage = {
  type?: string
  subtype?: string
  channel?: string
  channel_type?: string
  user?: string
  bot_id?: string
  text?: string
  ts?: string
  thread_ts?: string
  files?: WireFile[]
}

type WireCommand = {
  command?: string
  text?: string
  user_id?: string
  user_name?: string
  channel_id?: string
  channel_name?: string
  trigger_id?: string
}

type WirePress = {
  type?: string
  user?: { id?: string; name?: string; username?: string }
  channel?: { id?: string; name?: string }
  message?: { ts?: string; thread_ts?: string }
  actions?: { action_id?: string; value?: string; action_ts?: string }[]
  trigger_id?: string
}

/** What is stored: what Slack delivered, and the name of the person, which Slack does not deliver. */
export type StoredEvent = { name?: string } & (
  | { kind: 'message'; id: string; event: WireMessage }
  | { kind: 'command'; command: WireCommand }
  | { kind: 'press'; press: WirePress }
  | { kind: 'other'; id: string; type: string }
)

export type Bot = { id: string; name: string }

/** Subtypes that are messages of a person. */
const SAID = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message'])

export function readEvent(stored: StoredEvent, bot: Bot | undefined): Incoming {
  switch (stored.kind) {
    case 'message':
      return readMessage(stored.event, { name: stored.name, bot })
    case 'command':
      return readCommand(stored.command)
    case 'press':
      return readPress(stored.press)
    case 'other':
      return { type: 'ignored', reason: 'unknown-kind' }
  }
}

function readMessage(event: WireMessage, { name, bot }: { name: string | undefined; bot: Bot | undefined }): Incoming {
  const { subtype, user, text: raw = '', ts, files = [] } = event
  const chat = chatOf(event)
  if (subtype === 'message_changed') return { type: 'ignored', reason: 'edited', ...defined({ chat }) }
  if (!chat || !ts || (!SAID.has(subtype) && subtype !== 'bot_message'))
    return { type: 'ignored', reason: 'service-message', ...defined({ chat }) }
  const isBot = event.bot_id !== undefined || subtype === 'bot_message'
  const senderId = user ?? event.bot_id
  if (senderId === undefined) return { type: 'ignored', reason: 'anonymous', chat }
  const isMention = event.type === 'app_mention' || (bot !== undefined && raw.includes(`<@${bot.id}`))
  const isAddressed = chat.kind === 'private' || isMention
  return {
    type: 'message',
    chat,
    sender: { id: senderId, name: name ?? senderId, isBot },
    messageId: ts,
    text: wordsOf(plainText(raw, bot), isAddressed),
    attachments: files.map(fileOf),
    isAddressed,
  }
}

/** Without arguments a word alone is a command; with them it needs `holdfast` or `/` before it, to be no part of a sentence. */
function wordsOf(text: string, isAddressed: boolean): string {
  if (!isAddressed) return text
  const [, prefix = '', word = '', rest = ''] = /^(holdfast\s+|\/holdfast\s+)?([a-z]+)\b\s*([\s\S]*)$/i.exec(text) ?? []
  const isCommand = word.toLowerCase() in CHAT_COMMANDS && (prefix !== '' || rest === '')
  return isCommand ? `/${word.toLowerCase()} ${rest}`.trim() : text
}

function readCommand({
  text = '',
  user_id,
  user_name,
  channel_id,
  channel_name,
  trigger_id = '',
}: WireCommand): Incoming {
  if (!user_id || !channel_id) return { type: 'ignored', reason: 'unknown-kind' }
  const chat: Chat = channel_id.startsWith('D')
    ? { id: user_id, kind: 'private' }
    : { id: channel_id, kind: 'group', ...defined({ title: channel_name }) }
  const said = text.trim()
  const [word = ''] = said.split(/\s/)
  return {
    type: 'message',
    chat,
    sender: { id: user_id, name: user_name ?? user_id, isBot: false },
    messageId: trigger_id,
    text: said === '' ? '/help' : word.toLowerCase() in CHAT_COMMANDS ? `/${said}` : said,
    attachments: [],
    isAddressed: true,
  }
}

function readPress({ user, channel, message, actions = [] }: WirePress): Incoming {
  const [action] = actions
  if (!user?.id || !channel?.id || action?.value === undefined) return { type: 'ignored', reason: 'unknown-kind' }
  const chat: Chat = channel.id.startsWith('D')
    ? { id: user.id, kind: 'private' }
    : { id: channel.id, kind: 'group', ...defined({ title: channel.name, thread: message?.thread_ts }) }
  return {
    type: 'press',
    chat,
    sender: { id: user.id, name: user.username ?? user.name ?? user.id, isBot: false },
    pressId: [channel.id, user.id, message?.thread_ts ?? ''].join('|'),
    data: action.value,
  }
}

/**
 * A private chat has the id of its person, as everywhere in the gateway. In a channel the bot answers in a thread, and a
 * message outside of one is the root of its own.
 */
function chatOf({ channel, channel_type, user, ts, thread_ts }: WireMessage): Chat | undefined {
  if (!channel) return undefined
  const isPrivate = channel_type === 'im' || channel.startsWith('D')
  if (isPrivate) return { id: user ?? channel, kind: 'private', ...defined({ thread: thread_ts }) }
  return { id: channel, kind: 'group', ...defined({ thread: thread_ts ?? ts }) }
}

const IMAGES = /^image\/(png|jpe?g|gif|webp)$/

const fileOf = (file: WireFile): Attachment => ({
  kind: IMAGES.test(file.mimetype ?? '') ? 'image' : file.subtype === 'slack_audio' ? 'voice' : 'file',
  handle: file.url_private_download ?? file.url_private ?? file.id,
  ...defined({
    name: file.name,
    mediaType: file.mimetype,
    bytes: file.size,
    seconds: file.duration_ms === undefined ? undefined : Math.round(file.duration_ms / 1000),
  }),
})

/** The event as it is stored. A retry of Slack has another envelope, and the same event. */
export function rawUpdateOf(stored: StoredEvent, bot: Bot): RawUpdate {
  const incoming = readEvent(stored, bot)
  const { chat } = 'chat' in incoming ? incoming : { chat: undefined }
  const senderId = 'sender' in incoming ? incoming.sender.id : undefined
  const isSaid = incoming.type === 'message' && stored.kind === 'message'
  return {
    key: `${bot.id}/${keyOf(stored)}`,
    lane: chat ? [chat.id, chat.thread].filter(Boolean).join(':') : 'none',
    kind: kindOf(incoming, bot),
    raw: JSON.stringify(stored),
    holdMs: 0,
    ...defined({
      senderId,
      messageKey: isSaid ? `${bot.id}/${incoming.chat.id}/${incoming.messageId}` : undefined,
    }),
  }
}

function keyOf(stored: StoredEvent): string {
  switch (stored.kind) {
    case 'message':
    case 'other':
      return stored.id
    case 'command':
      return `command/${stored.command.trigger_id}`
    case 'press':
      return `press/${stored.press.trigger_id ?? stored.press.actions?.[0]?.action_ts}`
  }
}

function kindOf(incoming: Incoming, bot: Bot): InboundKind {
  if (incoming.type === 'message') return parseCommand(incoming.text, bot.name) ? 'command' : 'message'
  return incoming.type === 'press' ? 'press' : 'other'
}

export function parseStored(text: string): StoredEvent {
  try {
    return JSON.parse(text) as StoredEvent
  } catch {
    return { kind: 'other', id: 'unreadable', type: 'unreadable' }
  }
}
