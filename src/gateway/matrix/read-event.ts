import { defined } from '../../core/defined.ts'
import { parseCommand } from '../../core/gateway/chat-command.ts'
import type { Attachment, Chat, InboundKind, Incoming, RawUpdate, Sender } from '../../core/gateway/incoming.ts'

/** The fields that Holdfast reads. An event is data of strangers: every field may be missing, or of another type. */
export type WireEvent = {
  event_id?: string
  type?: string
  sender?: string
  state_key?: string
  origin_server_ts?: number
  content?: Record<string, unknown>
  unsigned?: { prev_content?: { membership?: unknown } }
}

/** What is stored: the event, and what only the state of its room says. `press`: the button of which it is a reaction. */
export type StoredEvent = {
  room: string
  isPrivate: boolean
  title?: string
  name?: string
  press?: string
  event: WireEvent
}

/** The id of a bot is its user id, and so is its name without the sign before it. */
export type Bot = { id: string; name: string }

/** Events that are stored; others are no messages. */
export const STORED_TYPES = [
  'm.room.message',
  'm.sticker',
  'm.reaction',
  'm.room.encrypted',
  'm.room.encryption',
  'm.room.tombstone',
] as const
const STORED: ReadonlySet<unknown> = new Set(STORED_TYPES)

export const isStored = ({ type, sender, event_id }: WireEvent, bot: Bot): boolean =>
  STORED.has(type) && typeof event_id === 'string' && sender !== bot.id

/** Said where the bot cannot read. The only words that are sent to an encrypted room. */
export const ENCRYPTED_NOTE =
  'This room is end-to-end encrypted. I cannot read what is written here, and I write nothing else here. ' +
  'Invite me to a room without encryption: encryption is chosen when a room is created, and cannot be switched off later.'

export function readEvent(stored: StoredEvent, bot: Bot | undefined): Incoming {
  const { event } = stored
  const chat = chatOf(stored)
  switch (event.type) {
    case 'm.room.message':
    case 'm.sticker':
      return readMessage(stored, chat, bot)
    case 'm.room.encrypted':
    case 'm.room.encryption':
      return { type: 'unreadable', chat, sender: senderOf(stored), reason: 'encrypted', say: ENCRYPTED_NOTE }
    case 'm.reaction':
      return stored.press === undefined
        ? { type: 'ignored', reason: 'unknown-kind', chat }
        : { type: 'press', chat, sender: senderOf(stored), pressId: event.event_id ?? '', data: stored.press }
    case 'm.room.tombstone': {
      const to = textOf(event.content?.replacement_room)
      return to === '' ? { type: 'ignored', reason: 'service-message', chat } : { type: 'moved', chat, to }
    }
    default:
      return { type: 'ignored', reason: 'unknown-kind', chat }
  }
}

function readMessage(stored: StoredEvent, chat: Chat, bot: Bot | undefined): Incoming {
  const { event } = stored
  const { content = {}, event_id: messageId = '' } = event
  const relation = relationOf(content)
  if (relation.rel_type === 'm.replace') return { type: 'ignored', reason: 'edited', chat }
  const attachment = attachmentOf(event)
  const body = textOf(content.body)
  // Redacted meanwhile, or without anything that can be shown.
  if (body === '' && !attachment) return { type: 'ignored', reason: 'service-message', chat }
  const isMentioned = mentions(content, bot)
  const isAddressed = chat.kind === 'private' || isMentioned
  return {
    type: 'message',
    chat,
    sender: senderOf(stored),
    messageId,
    text: wordsOf(attachment ? captionOf(content) : withoutFallback(body, relation), content, bot),
    attachments: attachment ? [attachment] : [],
    isAddressed,
  }
}

/** A thread is a conversation of its own. A room with one person is private, also if it has a name. */
function chatOf({ room, isPrivate, title, event }: StoredEvent): Chat {
  const { rel_type, event_id } = relationOf(event.content ?? {})
  const thread = rel_type === 'm.thread' && typeof event_id === 'string' ? event_id : undefined
  return { id: room, kind: isPrivate ? 'private' : 'group', ...defined({ title, thread }) }
}

/** By convention, bots write notices and never answer them. */
const senderOf = ({ event, name }: StoredEvent): Sender => {
  const id = event.sender ?? ''
  return { id, name: name ?? id, isBot: event.content?.msgtype === 'm.notice' }
}

type Relation = { rel_type?: unknown; event_id?: unknown; key?: unknown; 'm.in_reply_to'?: unknown }

export const relationOf = (content: Record<string, unknown>): Relation => objectOf(content['m.relates_to'])

/** What a client says about mentions wins over words that look like one. */
function mentions(content: Record<string, unknown>, bot: Bot | undefined): boolean {
  if (!bot) return false
  const said = content['m.mentions']
  if (typeof said === 'object' && said !== null) {
    const { user_ids: ids } = said as { user_ids?: unknown }
    return Array.isArray(ids) && ids.includes(bot.id)
  }
  return textOf(content.body).includes(bot.id) || textOf(content.formatted_body).includes(linkTo(bot))
}

const linkTo = ({ id }: Bot): string => `https://matrix.to/#/${id}`

/** Older clients quote what they answer before their own words. */
function withoutFallback(body: string, relation: Relation): string {
  if (relation['m.in_reply_to'] === undefined || !body.startsWith('> ')) return body
  const end = body.indexOf('\n\n')
  return end === -1 ? body : body.slice(end + 2)
}

/** A mention before the words is left out, so that a command may follow. Clients take words with `/` for their own. */
function wordsOf(text: string, content: Record<string, unknown>, bot: Bot | undefined): string {
  const said = bot ? withoutMention(text.trim(), content, bot) : text.trim()
  const asCommand = said.startsWith('!') ? `/${said.slice(1)}` : said
  return parseCommand(asCommand, undefined) ? asCommand : said
}

function withoutMention(text: string, { formatted_body }: Record<string, unknown>, bot: Bot): string {
  const [, shown = ''] =
    textOf(formatted_body).match(new RegExp(`<a href="${escaped(linkTo(bot))}"[^>]*>([^<]{1,100})</a>`)) ?? []
  const names = [bot.id, bot.name, bot.id.slice(0, bot.id.indexOf(':')), shown].filter((name) => name.length > 1)
  for (const name of names) {
    if (!text.startsWith(name)) continue
    const rest = text.slice(name.length)
    if (rest === '' || /^[\s:,]/.test(rest)) return rest.replace(/^[\s:,]+/, '')
  }
  return text
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Words that go with a file: where its name is said apart. */
function captionOf({ body, filename }: Record<string, unknown>): string {
  return typeof filename === 'string' && filename !== body ? textOf(body) : ''
}

const KINDS: Readonly<Record<string, Attachment['kind']>> = {
  'm.image': 'image',
  'm.sticker': 'image',
  'm.file': 'file',
  'm.video': 'file',
  'm.audio': 'file',
}
const IMAGES = /^image\/(png|jpe?g|gif|webp)$/

function attachmentOf({ type, content = {} }: WireEvent): Attachment | undefined {
  const kind = KINDS[type === 'm.sticker' ? type : textOf(content.msgtype)]
  const handle = textOf(content.url)
  if (!kind || handle === '') return undefined
  const { mimetype, size, duration } = objectOf(content.info)
  const mediaType = typeof mimetype === 'string' ? mimetype : undefined
  const isVoice = content['org.matrix.msc3245.voice'] !== undefined
  return {
    kind: isVoice ? 'voice' : kind === 'image' && !IMAGES.test(mediaType ?? '') ? 'file' : kind,
    handle,
    ...defined({
      name: textOf(content.filename) || textOf(content.body) || undefined,
      mediaType,
      bytes: typeof size === 'number' ? size : undefined,
      seconds: isVoice && typeof duration === 'number' ? Math.round(duration / 1_000) : undefined,
    }),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The event as it is stored. Its id is the same in every delivery. */
export function rawUpdateOf(stored: StoredEvent, bot: Bot): RawUpdate {
  const incoming = readEvent(stored, bot)
  const chat = incoming.chat ?? chatOf(stored)
  const key = `${bot.id}/${stored.event.event_id}`
  return {
    key,
    lane: [chat.id, chat.thread].filter(Boolean).join(':'),
    kind: kindOf(incoming, bot),
    raw: JSON.stringify(stored),
    holdMs: 0,
    ...defined({
      senderId: 'sender' in incoming ? incoming.sender.id : undefined,
      messageKey: incoming.type === 'message' ? key : undefined,
    }),
  }
}

function kindOf(incoming: Incoming, bot: Bot): InboundKind {
  if (incoming.type === 'message') return parseCommand(incoming.text, bot.name) ? 'command' : 'message'
  return incoming.type === 'press' ? 'press' : 'other'
}

export function readStored(raw: string, bot: Bot | undefined): Incoming {
  try {
    return readEvent(JSON.parse(raw) as StoredEvent, bot)
  } catch {
    return { type: 'ignored', reason: 'unknown-kind' }
  }
}

/** Only what is read: an event may carry up to 64 KB of other fields. */
export function picked({ event_id, type, sender, state_key, origin_server_ts, content = {} }: WireEvent): WireEvent {
  const keep: Record<string, unknown> = {}
  for (const key of CONTENT) if (content[key] !== undefined) keep[key] = content[key]
  return { ...defined({ event_id, type, sender, state_key, origin_server_ts }), content: keep }
}

const CONTENT = [
  'body',
  'msgtype',
  'formatted_body',
  'filename',
  'url',
  'info',
  'm.mentions',
  'm.relates_to',
  'org.matrix.msc3245.voice',
  'replacement_room',
] as const
