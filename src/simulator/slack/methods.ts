import { defined } from '../../core/defined.ts'
import { BOT, BOT_ID, type SimulatedButton, type SimulatedMessage, TEAM, type World, wireMessage } from './world.ts'

export type MethodAnswer = { status: number; body: Record<string, unknown>; ts?: string; retryAfterS?: number }

type Payload = Record<string, unknown>
type Method = (payload: Payload, world: World) => MethodAnswer

const ok = (fields: object = {}, ts?: string): MethodAnswer => ({
  status: 200,
  body: Object.assign({ ok: true }, fields),
  ...defined({ ts }),
})

export const failure = (error: string, fields: object = {}): MethodAnswer => ({
  status: 200,
  body: Object.assign({ ok: false, error }, fields),
})

const MOST_MARKDOWN = 12_000
/** A stream ends by itself after so long. */
export const STREAM_MS = 300_000

/** Methods of the Web API; `apps.connections.open` is in the server. */
export const METHODS: Readonly<Record<string, Method>> = {
  'auth.test': () => ok({ user_id: BOT.id, user: BOT.name, bot_id: BOT_ID, team_id: TEAM, team: 'Simulated' }),

  'users.info'({ user }, { users }) {
    const found = users.get(String(user))
    return found ? ok({ user: { id: found.id, name: found.name, real_name: found.name } }) : failure('user_not_found')
  },

  'conversations.open'({ users: id }, world) {
    const user = world.users.get(String(id))
    return user ? ok({ channel: { id: world.directChannel(user).id } }) : failure('user_not_found')
  },

  'users.conversations'(_, { messages, users, directChannel }) {
    const used = new Set(messages.map(({ channel }) => channel))
    const direct = [...users.values()].map((user) => ({ id: directChannel(user).id, user: user.id, is_im: true }))
    const others = [...used].filter((id) => !id.startsWith('D')).map((id) => ({ id, is_im: false }))
    return ok({ channels: [...direct.filter(({ id }) => used.has(id)), ...others] })
  },

  'chat.postMessage'(payload, world) {
    const channel = String(payload.channel)
    const content = contentOf(payload)
    const refusal = refusalFor(channel, world) ?? ('status' in content ? content : undefined)
    if (refusal || 'status' in content) return refusal ?? failure('internal_error')
    const thread = payload.thread_ts === undefined ? undefined : String(payload.thread_ts)
    const message = world.newMessage({
      channel,
      user: BOT.id,
      isBot: true,
      ...content,
      ...defined({ thread, metadata: payload.metadata }),
    })
    // Apps receive their own messages, too.
    world.push(
      Object.assign(wireMessage(message), { channel, channel_type: channel.startsWith('D') ? 'im' : 'channel' }),
    )
    return ok({ channel, ts: message.ts, message: wireMessage(message) }, message.ts)
  },

  'files.getUploadURLExternal'({ filename, length }, world) {
    if (Number(length) <= 0) return failure('invalid_arguments')
    const id = `F${String(world.uploads.size + 1).padStart(8, '0')}`
    world.uploads.set(id, { name: String(filename), bytes: new Uint8Array() })
    return ok({ file_id: id, upload_url: `${world.uploadRoot()}/${id}` })
  },

  'files.completeUploadExternal'(payload, world) {
    const channel = String(payload.channel_id)
    const refusal = refusalFor(channel, world)
    if (refusal) return refusal
    const named = payload.files as { id: string; title?: string }[]
    const files = named.flatMap(({ id, title }) => {
      const upload = world.uploads.get(id)
      return upload ? [{ id, ...upload, title: title ?? upload.name }] : []
    })
    if (files.length === 0) return failure('file_not_found')
    const thread = payload.thread_ts === undefined ? undefined : String(payload.thread_ts)
    const parts = { channel, user: BOT.id, isBot: true, text: '', buttons: [], files, ...defined({ thread }) }
    const message = world.newMessage(parts)
    const event = { channel, channel_type: channel.startsWith('D') ? 'im' : 'channel', subtype: 'file_share' }
    world.push(Object.assign(wireMessage(message), event))
    return ok({ files: named }, message.ts)
  },

  'chat.update'(payload, world) {
    const message = ownMessage(payload, world)
    if ('status' in message) return message
    if (message.isStreaming) return failure('streaming_state_conflict')
    const content = contentOf(payload)
    if ('status' in content) return content
    message.text = content.text
    message.buttons = content.buttons
    message.versions.push(content.text)
    const { channel, ts } = message
    world.push({
      type: 'message',
      subtype: 'message_changed',
      channel,
      ts: world.newTs(),
      message: wireMessage(message),
    })
    return ok({ channel, ts, text: message.text }, ts)
  },

  'chat.postEphemeral'({ channel, user, text, thread_ts }, world) {
    const refusal = refusalFor(String(channel), world)
    if (refusal) return refusal
    const { ts } = world.newMessage({
      channel: String(channel),
      user: BOT.id,
      isBot: true,
      text: withoutEntities(String(text)),
      buttons: [],
      onlyFor: String(user),
      ...defined({ thread: thread_ts === undefined ? undefined : String(thread_ts) }),
    })
    return ok({ message_ts: ts })
  },

  'chat.startStream'(payload, world) {
    const channel = String(payload.channel)
    const refusal = refusalFor(channel, world)
    if (refusal) return refusal
    if (payload.thread_ts === undefined) return failure('invalid_thread_ts')
    const needsRecipient = !channel.startsWith('D')
    if (needsRecipient && (!payload.recipient_user_id || !payload.recipient_team_id))
      return failure('missing_recipient_user_id')
    const message = world.newMessage({
      channel,
      user: BOT.id,
      isBot: true,
      text: String(payload.markdown_text ?? ''),
      buttons: [],
      thread: String(payload.thread_ts),
      isStreaming: true,
      wasStreamed: true,
    })
    return ok({ channel, ts: message.ts }, message.ts)
  },

  'chat.appendStream'(payload, world) {
    const message = ownMessage(payload, world)
    if ('status' in message) return message
    if (!message.isStreaming) return failure('message_not_in_streaming_state')
    message.text += String(payload.markdown_text ?? '')
    message.versions.push(message.text)
    world.changed()
    return ok({ channel: message.channel, ts: message.ts })
  },

  'chat.stopStream'(payload, world) {
    const message = ownMessage(payload, world)
    if ('status' in message) return message
    if (!message.isStreaming) return failure('message_not_in_streaming_state')
    message.isStreaming = false
    message.text += String(payload.markdown_text ?? '')
    world.changed()
    return ok({ channel: message.channel, ts: message.ts })
  },

  'conversations.history': (payload, world) =>
    history(payload, world, (message) => message.channel === payload.channel && message.thread === undefined),

  'conversations.replies': (payload, world) =>
    history(
      payload,
      world,
      ({ channel, ts, thread }) => channel === payload.channel && (thread === payload.ts || ts === payload.ts),
    ),
}

function refusalFor(channel: string, { gone }: World): MethodAnswer | undefined {
  return gone.has(channel) || !/^[CDG]/.test(channel) ? failure('channel_not_found') : undefined
}

function ownMessage({ channel, ts }: Payload, world: World): SimulatedMessage | MethodAnswer {
  const refusal = refusalFor(String(channel), world)
  if (refusal) return refusal
  const message = world.messages.find((each) => each.channel === channel && each.ts === ts)
  if (!message) return failure('message_not_found')
  return message.isBot ? message : failure('cant_update_message')
}

/** The newest first, in pages; the cursor is the timestamp of the last one that was shown. */
function history(payload: Payload, world: World, isIn: (message: SimulatedMessage) => boolean): MethodAnswer {
  const refusal = refusalFor(String(payload.channel), world)
  if (refusal) return refusal
  const limit = Math.min(Number(payload.limit ?? 100), 200)
  const oldest = Number(payload.oldest ?? 0)
  const before = payload.cursor ? Number(payload.cursor) : Number.POSITIVE_INFINITY
  const all = world.messages
    .filter((message) => isIn(message) && message.onlyFor === undefined)
    .filter(({ ts }) => Number(ts) > oldest && Number(ts) < before)
    .reverse()
  const page = all.slice(0, limit)
  const next = all.length > limit ? page.at(-1)!.ts : ''
  const hasMetadata = String(payload.include_all_metadata) === 'true'
  const messages = page.map((message) => {
    const { metadata, ...wire } = wireMessage(message)
    return hasMetadata && metadata !== undefined ? Object.assign(wire, { metadata }) : wire
  })
  return ok({ messages, has_more: next !== '', response_metadata: { next_cursor: next } })
}

type Block = {
  type?: string
  text?: { text?: string } | string
  elements?: { value?: string; action_id?: string; text?: { text?: string } }[]
}

function contentOf(payload: Payload): { text: string; buttons: SimulatedButton[] } | MethodAnswer {
  const blocks = Array.isArray(payload.blocks) ? (payload.blocks as Block[]) : []
  const shown = blocks.find(({ type }) => type === 'markdown' || type === 'section')
  const text =
    typeof shown?.text === 'string' ? shown.text : (shown?.text?.text ?? withoutEntities(String(payload.text ?? '')))
  if (text === '') return failure('no_text')
  if (shown?.type === 'markdown' && text.length > MOST_MARKDOWN) return failure('msg_too_long')
  if (shown?.type === 'section' && text.length > 3_000) return failure('invalid_blocks')
  const buttons = blocks
    .flatMap(({ elements = [] }) => elements)
    .map(({ value, action_id, text: label }) => ({ text: label?.text ?? '', callback_data: value ?? action_id ?? '' }))
  if (buttons.some(({ callback_data: data }) => data.length > 255)) return failure('invalid_blocks')
  return { text, buttons }
}

const withoutEntities = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
