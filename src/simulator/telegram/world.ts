import { defined } from '../../core/defined.ts'
/** A person of the simulated Telegram. */
export type SimulatedUser = { id: number; first_name: string; username?: string; is_bot?: boolean }

export type SimulatedChat = {
  id: number
  type: 'private' | 'group' | 'supergroup'
  title?: string
  is_forum?: boolean
}

export type SimulatedButton = { text: string; callback_data: string }

/** A message as people see it now. `versions` are all texts it had. */
export type SimulatedMessage = {
  message_id: number
  chat: SimulatedChat
  from: SimulatedUser
  text: string
  versions: string[]
  buttons: SimulatedButton[]
  /** Shown in place of the text. */
  file?: { type: string; name: string; bytes: Uint8Array }
  thread?: number
  replyTo?: number
  date: number
}

type SimulatedUpdate = { update_id: number } & Record<string, unknown>

/** One call of a bot, with its effect and whether its answer reached the bot. */
type SimulatedCall = {
  number: number
  at: number
  token: string
  method: string
  payload: Record<string, unknown>
  /** Whether Telegram did what was asked. */
  isAccepted: boolean
  isAnswered: boolean
  status: number
  messageId?: number
}

type SimulatedFile = { id: string; path: string; bytes: Uint8Array }

type Bot = { token: string; user: SimulatedUser; isRevoked: boolean }

type SayOptions = {
  user?: SimulatedUser
  chat?: SimulatedChat
  thread?: number
  replyTo?: SimulatedMessage
  /** Further fields of the message: a photo, a caption. */
  extra?: Record<string, unknown>
}

const MOST_TEXT = 4_096

/** The state of the simulated Telegram: bots, chats, messages, and updates that no poll has confirmed. */
export function newWorld({ now = Date.now }: { now?: () => number } = {}) {
  const bots = new Map<string, Bot>()
  const messages: SimulatedMessage[] = []
  const calls: SimulatedCall[] = []
  const files = new Map<string, SimulatedFile>()
  const blocked = new Set<number>()
  const closedThreads = new Set<number>()
  const moved = new Map<number, number>()
  const presses = new Map<string, { text: string | undefined; at: number }>()
  const queues = new Map<string, SimulatedUpdate[]>()
  const listeners = new Set<() => void>()
  let nextUpdate = 100_001
  let nextMessage = 1
  let nextCall = 1

  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }

  const user: SimulatedUser = { id: 1_001, first_name: 'Ada' }
  const privateChat = (of: SimulatedUser): SimulatedChat => ({ id: of.id, type: 'private' })

  function addBot(token: string, username = 'holdfast_test_bot'): SimulatedUser {
    const bot = { id: Number(token.split(':')[0]) || 4_242, first_name: 'Holdfast', username, is_bot: true }
    bots.set(token, { token, user: bot, isRevoked: false })
    if (!queues.has(token)) queues.set(token, [])
    return bot
  }

  /** Every bot gets the update: a test has one. */
  function push(fields: Record<string, unknown>): SimulatedUpdate {
    const update = { update_id: nextUpdate++, ...fields }
    for (const queue of queues.values()) queue.push(update)
    changed()
    return update
  }

  /** A person writes. A client splits a long text as the apps do. */
  function say(text: string, options: SayOptions = {}): SimulatedMessage {
    const { user: from = user, chat = privateChat(from), thread, replyTo, extra = {} } = options
    let first: SimulatedMessage | undefined
    const pieces = text === '' ? [''] : (text.match(new RegExp(`[\\s\\S]{1,${MOST_TEXT}}`, 'g')) ?? [''])
    for (const piece of pieces) {
      const message = newMessage({ chat, from, text: piece, buttons: [], thread, replyTo: replyTo?.message_id })
      const wire = { ...wireMessage(message), ...entitiesOf(piece), ...extra }
      push({ message: replyTo ? { ...wire, reply_to_message: wireMessage(replyTo) } : wire })
      first ??= message
    }
    return first!
  }

  function newMessage(
    fields: Pick<SimulatedMessage, 'chat' | 'from' | 'text' | 'buttons'> & {
      thread?: number | undefined
      replyTo?: number | undefined
    },
  ): SimulatedMessage {
    const { thread, replyTo, ...rest } = fields
    const message: SimulatedMessage = { message_id: nextMessage++, ...rest, versions: [rest.text], date: now() }
    if (thread !== undefined) message.thread = thread
    if (replyTo !== undefined) message.replyTo = replyTo
    messages.push(message)
    changed()
    return message
  }

  /** A person presses a button of a message. */
  function press(message: SimulatedMessage, data: string, from: SimulatedUser = user): string {
    const id = `press-${nextUpdate}`
    presses.set(id, { text: undefined, at: now() })
    push({ callback_query: { id, from, data, message: wireMessage(message) } })
    return id
  }

  function addFile(bytes: Uint8Array, path = `files/file-${files.size + 1}`): SimulatedFile {
    const file = { id: `file-${files.size + 1}`, path, bytes }
    files.set(file.id, file)
    return file
  }

  /** Confirmed updates are gone; the others are delivered again. */
  function updatesFrom(token: string, offset: number | undefined, limit: number): SimulatedUpdate[] {
    const queue = queues.get(token) ?? []
    const kept = offset === undefined ? queue : queue.filter(({ update_id }) => update_id >= offset)
    queues.set(token, kept)
    return kept.slice(0, limit)
  }

  return {
    bots,
    messages,
    calls,
    files,
    blocked,
    closedThreads,
    moved,
    presses,
    queues,
    user,
    now,
    privateChat,
    addBot,
    push,
    say,
    press,
    addFile,
    newMessage,
    updatesFrom,
    changed,
    record(call: Omit<SimulatedCall, 'number' | 'at'>): SimulatedCall {
      const recorded = { number: nextCall++, at: now(), ...call }
      calls.push(recorded)
      return recorded
    },
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export type World = ReturnType<typeof newWorld>

export function wireMessage(message: SimulatedMessage): Record<string, unknown> {
  const { message_id, chat, from, text, thread, date, buttons } = message
  return {
    message_id,
    chat,
    from,
    date: Math.floor(date / 1000),
    ...defined({
      text: text === '' ? undefined : text,
      message_thread_id: thread,
      is_topic_message: thread === undefined ? undefined : true,
      reply_markup: buttons.length > 0 ? { inline_keyboard: [buttons] } : undefined,
    }),
  }
}

/** Mentions and commands, as the apps mark them. */
function entitiesOf(text: string): { entities?: object[] } {
  const entities = [...text.matchAll(/(^|\s)(@\w+|\/\w+(?:@\w+)?)/g)].map((match) => {
    const word = match[2]!
    const type = word.startsWith('@') ? 'mention' : 'bot_command'
    return { type, offset: match.index + match[1]!.length, length: word.length }
  })
  return entities.length > 0 ? { entities } : {}
}
