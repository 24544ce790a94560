import { defined } from '../../core/defined.ts'

export type SimulatedUser = { id: string; name: string }
type SimulatedChannel = { id: string; name: string; isPrivate?: boolean }
export type SimulatedButton = { text: string; callback_data: string }

/** A message as people see it now. `versions` are all texts it had. */
export type SimulatedMessage = {
  ts: string
  channel: string
  user: string
  isBot: boolean
  text: string
  versions: string[]
  buttons: SimulatedButton[]
  thread?: string
  metadata?: unknown
  /** Of a native stream that was not stopped. */
  isStreaming?: boolean
  wasStreamed?: boolean
  /** Shown to one person only. */
  onlyFor?: string
  files?: SimulatedFile[]
}

/** What people see of a file: with its bytes, if the bot sent it. */
export type SimulatedFile = { id: string; name: string; title?: string; bytes?: Uint8Array } & Record<string, unknown>

/** One call of a bot, with its effect and whether its answer reached the bot. */
export type SimulatedCall = {
  at: number
  method: string
  payload: Record<string, unknown>
  isAccepted: boolean
  isAnswered: boolean
  status: number
  error?: string
  ts?: string
}

/** What Slack wants delivered: to one connection after the other, until it is acknowledged. */
export type Pending = { type: string; payload: Record<string, unknown>; attempt: number; isDelivered: boolean }

type SayOptions = {
  user?: SimulatedUser
  channel?: SimulatedChannel
  thread?: string
  files?: SimulatedFile[]
  /** Also as `app_mention`, as Slack does with a mention in a channel. */
  isTwice?: boolean
  bot_id?: string
}

export const BOT: SimulatedUser = { id: 'UHOLDFAST1', name: 'holdfast' }
export const BOT_ID = 'BHOLDFAST1'
export const TEAM = 'T0000001'
export const ADA: SimulatedUser = { id: 'U0000ADA', name: 'Ada' }

/** The state of a simulated workspace with one app. */
export function newWorld({ now = Date.now }: { now?: () => number } = {}) {
  const messages: SimulatedMessage[] = []
  const calls: SimulatedCall[] = []
  const users = new Map<string, SimulatedUser>([[ADA.id, ADA]])
  const files = new Map<string, Uint8Array>()
  /** Files with an address for their bytes, and their bytes. */
  const uploads = new Map<string, { name: string; bytes: Uint8Array }>()
  const gone = new Set<string>()
  const listeners = new Set<() => void>()
  const deliverers = new Set<(event: Pending) => void>()
  let lastTs = 0
  let nextEvent = 1

  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }

  function newTs(): string {
    lastTs = Math.max(lastTs + 1, Math.floor(now() * 1_000))
    return `${Math.floor(lastTs / 1e6)}.${String(lastTs % 1e6).padStart(6, '0')}`
  }

  const directChannel = ({ id }: SimulatedUser): SimulatedChannel => ({
    id: `D${id.slice(1)}`,
    name: 'directmessage',
    isPrivate: true,
  })

  function deliver(type: string, payload: Record<string, unknown>): void {
    const event: Pending = { type, payload, attempt: 0, isDelivered: false }
    for (const deliverer of [...deliverers]) deliverer(event)
    changed()
  }

  /** An event of the Events API. */
  const push = (event: Record<string, unknown>, id = `Ev${String(nextEvent++).padStart(8, '0')}`): void =>
    deliver('events_api', {
      type: 'event_callback',
      team_id: TEAM,
      event_id: id,
      event_time: Math.floor(now() / 1000),
      event,
    })

  function newMessage(fields: Omit<SimulatedMessage, 'ts' | 'versions'>): SimulatedMessage {
    const message: SimulatedMessage = { ts: newTs(), versions: [fields.text], ...fields }
    messages.push(message)
    changed()
    return message
  }

  /** A person writes. */
  function say(text: string, options: SayOptions = {}): SimulatedMessage {
    const { user = ADA, channel = directChannel(user), thread, files: attached, isTwice = true, bot_id } = options
    users.set(user.id, user)
    const message = newMessage({
      channel: channel.id,
      user: user.id,
      isBot: bot_id !== undefined,
      text,
      buttons: [],
      ...defined({ thread, files: attached }),
    })
    const event = wireMessage(message)
    push({
      ...event,
      channel: channel.id,
      channel_type: channel.isPrivate ? 'im' : 'channel',
      ...defined({ bot_id, subtype: attached ? 'file_share' : undefined }),
    })
    if (isTwice && !channel.isPrivate && text.includes(`<@${BOT.id}>`))
      push({ ...event, type: 'app_mention', channel: channel.id })
    return message
  }

  /** A person types `/holdfast …`. */
  function command(text: string, { user = ADA, channel = directChannel(user) }: SayOptions = {}): void {
    users.set(user.id, user)
    deliver('slash_commands', {
      command: '/holdfast',
      text,
      user_id: user.id,
      user_name: user.name,
      team_id: TEAM,
      channel_id: channel.id,
      channel_name: channel.name,
      trigger_id: `trigger-${nextEvent++}`,
    })
  }

  /** A person presses a button of a message. */
  function press(message: SimulatedMessage, value: string, user: SimulatedUser = ADA): void {
    users.set(user.id, user)
    deliver('interactive', {
      type: 'block_actions',
      user: { id: user.id, username: user.name },
      team: { id: TEAM },
      channel: { id: message.channel, name: 'channel' },
      message: { ts: message.ts, ...defined({ thread_ts: message.thread }) },
      actions: [{ type: 'button', action_id: value, value, action_ts: newTs() }],
      trigger_id: `trigger-${nextEvent++}`,
    })
  }

  let uploadRoot = ''

  return {
    messages,
    calls,
    users,
    files,
    uploads,
    /** Where the server takes the bytes of files. */
    uploadRoot: () => uploadRoot,
    setUploadRoot(root: string) {
      uploadRoot = root
    },
    /** Channels that were deleted. */
    gone,
    now,
    newTs,
    directChannel,
    push,
    deliver,
    newMessage,
    say,
    command,
    press,
    changed,
    /** A message is deleted by a person. */
    remove(message: SimulatedMessage): void {
      messages.splice(messages.indexOf(message), 1)
      push({
        type: 'message',
        subtype: 'message_deleted',
        channel: message.channel,
        deleted_ts: message.ts,
        ts: newTs(),
      })
    },
    onDelivery(deliverer: (event: Pending) => void): () => void {
      deliverers.add(deliverer)
      return () => deliverers.delete(deliverer)
    },
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export type World = ReturnType<typeof newWorld>

export const wireMessage = (message: SimulatedMessage): Record<string, unknown> => {
  const { ts, user, isBot, text, thread, metadata, files } = message
  return {
    type: 'message',
    ts,
    user,
    text,
    team: TEAM,
    ...defined({
      bot_id: isBot ? BOT_ID : undefined,
      thread_ts: thread,
      metadata,
      files: files?.map(({ bytes: _, ...file }) => file),
    }),
  }
}
